"""The report is one page that shows what is there, names what is missing, and fetches nothing."""

import base64
import contextlib
import csv
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from files import error_of

from dyna_td import cli
from dyna_td.pages import report
from dyna_td.pipeline import plans
from dyna_td.pipeline.plans import FIGURES_OF_THE_PAPER

ROOT = Path(__file__).parents[2]
VOID = {"meta", "img", "br", "hr"}
ODD = """<script>alert("1")</script> & 'x' \u2265 {{ 1 }}"""
DRAWN = ("figure_1", "figure_7", "controls")
PICTURE = (ROOT / "reference" / "scorecard.png").read_bytes()


class Page(HTMLParser):
    """The elements of a page, each with its attributes and its text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        element = {"tag": tag, "text": "", **dict(attributes)}
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag):
        return [element for element in self.elements if element["tag"] == tag]

    def section(self, name):
        """The words of the section that the heading `name` labels."""
        (found,) = [element for element in self.all("section") if element.get("aria-labelledby") == name]
        return " ".join(found["text"].split())


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """The claims.csv and readings.csv of a folder without runs, by name."""
    directory = tmp_path_factory.mktemp("claims")
    with contextlib.chdir(directory):
        assert cli.main(["claims", "--scale", "smoke"]) == 0
    return {path.name: path.read_text() for path in (directory / "results" / "smoke").glob("*.csv")}


@pytest.fixture
def folder(tmp_path, monkeypatch, verdicts):
    """Results in which figures 1 and 7 and a study are drawn and the claims are judged; commands write there."""
    monkeypatch.chdir(tmp_path)
    directory = tmp_path / "results" / "smoke"
    for figure in DRAWN:
        (directory / figure).mkdir(parents=True)
        (directory / figure / f"{figure}.png").write_bytes(PICTURE)
    for name, text in verdicts.items():
        (directory / name).write_text(text)
    return directory


def write_report():
    assert cli.main(["report", "--scale", "smoke"]) == 0
    return Path("results/smoke/report.html").read_text(encoding="utf-8")


def test_every_figure_is_shown_with_its_caption_or_missing_with_the_command_that_makes_it(folder):
    page = Page(write_report())
    for figure in FIGURES_OF_THE_PAPER:
        words = page.section(figure)
        if figure in DRAWN:
            rst = (ROOT / "figures" / "captions" / f"{figure}.rst").read_text()
            assert " ".join(rst.replace("**", "").split()) in words
            assert f"{figure}/{figure}.png, drawn from {figure}/curves.csv" in words
        else:
            assert f"missing here: make {figure} SCALE=smoke" in words
    assert page.section("controls").startswith("Beyond the paper: controls")
    shown = [base64.b64decode(image["src"].partition("base64,")[2]) for image in page.all("img")]
    assert shown == [PICTURE] * len(DRAWN)


def test_the_page_fetches_nothing_and_its_links_lead_somewhere(folder):
    page = Page(write_report())
    assert {"script", "link"}.isdisjoint(element["tag"] for element in page.elements)
    sources = [element["src"] for element in page.elements if "src" in element]
    assert sources and all(source.startswith("data:image/png;base64,") for source in sources)
    assert not re.search(r"url\(|@import", page.all("style")[0]["text"])
    ids = [element["id"] for element in page.elements if "id" in element]
    assert len(ids) == len(set(ids))
    targets = {link["href"] for link in page.all("a")}
    assert {target for target in targets if not target.startswith("#")} == {"https://arxiv.org/abs/2007.09569"}
    assert {target[1:] for target in targets if target.startswith("#")} <= set(ids)


def test_every_claim_and_test_is_there_and_odd_text_is_shown_as_it_is(folder, verdicts):
    card = list(csv.DictReader(verdicts["claims.csv"].splitlines()))
    card[-1]["note"] = ODD
    with open(folder / "claims.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, card[0])
        writer.writeheader()
        writer.writerows(card)
    page = Page(write_report())
    items = {item["id"]: " ".join(item["text"].split()) for item in page.all("li") if "id" in item}
    claims = [row for row in card if row["row"] == "claim"]
    assert sorted(items) == sorted(f"claim-{row['claim']}" for row in claims) and claims
    for row in card:
        words = items[f"claim-{row['claim']}"]
        assert " ".join(row["note"].split()) in words and row["test"].replace("_", " ") in words
        assert words.startswith(f"{row['claim']}. ")
    assert page.all("script") == [] and ODD in page.section("claims")


def test_the_report_of_the_published_results_shows_their_pictures():
    page = Page(report.published_page(plans.load_plan("paper")))
    assert len(page.all("img")) >= len(FIGURES_OF_THE_PAPER)
    for image in page.all("img"):
        assert (ROOT / image["src"]).read_bytes().startswith(b"\x89PNG")
    assert "<a href" not in page.all("body")[0]["text"]


@pytest.mark.parametrize(
    ("name", "damage", "command"),
    [
        ("figure_1/figure_1.png", lambda content: b"PNG", "make figure_1 SCALE=smoke"),
        ("claims.csv", lambda content: b"claim,row\n1,claim\n", "make claims SCALE=smoke"),
        (
            "claims.csv",
            lambda content: content.rpartition(b"\n47,")[0] + b"\n",
            "as they are now: call `make claims`",
        ),
    ],
    ids=["picture", "verdicts", "verdicts on other tests"],
)
def test_a_damaged_file_is_told_in_one_sentence_and_the_old_page_stays(folder, capsys, name, damage, command):
    before = write_report()
    (folder / name).write_bytes(damage((folder / name).read_bytes()))
    message = error_of(cli.main, ["report", "--scale", "smoke"], capsys)
    assert message.startswith(f"error: results/smoke/{name} ") and command in message
    assert Path("results/smoke/report.html").read_text(encoding="utf-8") == before
