"""Draws how PrioritizedER's lead changes with one dial of GridWorld, on two scales: `python figures/dials.py`."""

import sys
from dataclasses import replace

import pandas as pd
from drawing.forest import Dot, Forest
from drawing.rendering import draw_figure, save
from drawing.style import style_of
from drawing.tables import Tables

from dyna_td.errors import exit_status
from dyna_td.evidence.statistics import half_width
from dyna_td.pages import studies
from dyna_td.pages.facts import Facts
from dyna_td.plan.planned import Panel
from dyna_td.records import published

TITLES = {"a": "change of the lead", "b": "change of its share of the gap"}
WORDS = (
    "The lead: PrioritizedER minus ER. Changes: each world minus the paper's. The gap: the best return minus ER's. "
    "Full dots: the 95% interval excludes zero, Student's in (a), by resampling seeds in (b)."
)


def draw() -> None:
    """Two panels, a PNG and a PDF: the change in return, and as a share of the gap between ER and the best return."""
    facts, look = Facts(), style_of("prioritized_er")
    worlds = studies.panels_of(facts, "when")
    bars = {
        ("a", key): (change.mean(), change.mean() - half_width(change), change.mean() + half_width(change))
        for key, change in studies.changes_of_the_lead(facts).items()
    }
    bars |= {("b", key): bar for key, bar in studies.changes_of_the_share(facts).items()}
    rows = [(*place, "change", *bar, worlds[place[1]].seeds) for place, bar in bars.items()]
    names = ["panel", "curve", "metric", "mean", "low95", "high95", "n"]
    keys = [key for letter, key in bars if letter == "a"]
    forests = [
        Forest(
            Panel("change", {}, key=letter, title=title),
            {"a": "return", "b": "share"}[letter],
            {key: replace(look, label=worlds[key].title) for key in keys},
            [Dot(key, (letter, key, "change"), look.colour) for key in keys],
            line=0.0,
            ticks=5,
            is_hollow_at_zero=True,
            words=(WORDS,),
        )
        for letter, title in TITLES.items()
    ]
    tables = Tables(pd.DataFrame(rows, columns=names).assign(step=0))
    save(draw_figure(forests, tables, published.SCALE, columns=2), published.HERE / "dials.png")


if __name__ == "__main__":
    sys.exit(exit_status(draw))
