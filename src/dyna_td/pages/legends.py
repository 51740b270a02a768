"""The legend that a picture carries inside, as HTML: it stays in view where a phone scrolls over the picture."""

import json
import re

import PIL.Image
from markupsafe import Markup

_WIDTH, _HEIGHT, _STROKE = 34, 10, 2  # CSS pixels of a sample, and of its line


def as_html(picture: PIL.Image.Image) -> Markup:
    """A list with a sample of each line or marker and its label; empty if the picture has no legend inside."""
    entries = json.loads(picture.info.get("Legend", "[]"))
    items = Markup("\n").join(
        Markup("<li>{} {}</li>").format(_sample(entry), _plain(entry["label"])) for entry in entries
    )
    return Markup('<ul class="legend">\n{}\n</ul>').format(items) if entries else Markup("")


def _sample(entry: dict) -> Markup:
    colour, middle = entry["colour"], _HEIGHT / 2
    if entry["marker"]:
        fill = "#fff" if entry["is_hollow"] else colour
        shape = {
            "o": Markup('<circle cx="{0}" cy="{0}" r="3.5"/>').format(middle),
            "s": Markup('<rect x="1.5" y="1.5" width="7" height="7"/>'),
            "^": Markup('<path d="M5 1.5 8.5 8.5H1.5Z"/>'),
        }[entry["marker"]]
        look, width = Markup('fill="{}" stroke="{}"').format(fill, colour), _HEIGHT
    else:
        dashes = " ".join(f"{_STROKE * length:g}" for length in entry["dash"])
        shape = Markup('<path d="M0 {}H{}" stroke-dasharray="{}"/>').format(middle, _WIDTH, dashes or "none")
        look, width = Markup('stroke="{}" stroke-width="{}"').format(colour, _STROKE), _WIDTH
    head = Markup('<svg width="{}" height="{}" aria-hidden="true" {}>').format(width, _HEIGHT, look)
    return head + shape + Markup("</svg>")


def _plain(label: str) -> str:
    """A label without matplotlib's mathematics: "$p^*$ sampled" is "p* sampled"."""
    return re.sub(r"[$\\{}^]", "", label.replace("^2", "²").replace("^3", "³"))
