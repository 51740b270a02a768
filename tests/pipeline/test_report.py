"""The report is one page that shows finished results, names missing ones, and loads nothing else."""

import base64
import dataclasses
import re
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from dyna_td import cli
from dyna_td.evidence.claims import load_claims
from dyna_td.pages import facts
from dyna_td.plan import plans
from dyna_td.plan.plans import FIGURES_OF_THE_PAPER

ROOT = Path(__file__).parents[2]
ODD = """<script>alert("1")</script> & 'x' \u2265 {{ 1 }}"""
DRAWN = ("figure_1", "figure_7", "controls")
PICTURE = (ROOT / "reference" / "scorecard.png").read_bytes()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of results with pictures of figures 1 and 7 and a study, without runs; commands write there."""
    monkeypatch.chdir(tmp_path)
    directory = tmp_path / "results" / "smoke"
    for figure in DRAWN:
        (directory / figure).mkdir(parents=True)
        (directory / figure / f"{figure}.png").write_bytes(PICTURE)
    return directory


def write_report():
    assert cli.main(["report", "--scale", "smoke"]) == 0
    return Path("results/smoke/report.html").read_text(encoding="utf-8")


def words_of(html):
    return " ".join(unescape(re.sub("<[^>]+>", "", html)).split())


def test_every_figure_is_shown_with_its_caption_or_missing_with_the_command_that_makes_it(folder):
    page = write_report()
    words = words_of(page)
    for figure in FIGURES_OF_THE_PAPER:
        caption = (ROOT / "figures" / "captions" / f"{figure}.rst").read_text().replace("**", "")
        caption = caption.replace(".. Questions and predictions: pages leave them out.", "")
        is_drawn = figure in DRAWN
        assert (" ".join(caption.split()) in words) == is_drawn
        assert (f"results/smoke/{figure}/{figure}.png, drawn from curves.csv" in words) == is_drawn
        assert (f"Missing here: make {figure} SCALE=smoke" in words) != is_drawn
    assert "Beyond the paper: controls" in words and "Claims judge" not in words, "those are seeds of the paper's scale"
    shown = re.findall('<img src="data:image/png;base64,([^"]+)"', page)
    assert [base64.b64decode(each) for each in shown] == [PICTURE] * len(DRAWN)


def test_the_page_fetches_nothing_and_its_links_lead_somewhere(folder):
    page = write_report()
    assert not re.search(r"<script|<link|<img (?!src=\"data:image/png;base64,)|[:\s]url\(|@import", page)
    ids = re.findall('<[^>]* id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    targets = {unescape(target) for target in re.findall('<a [^>]*href="([^"]+)"', page)}
    assert {target[1:] for target in targets if target.startswith("#")} <= set(ids)
    files = {target for target in targets if not target.startswith(("#", "https://arxiv.org/"))}
    assert all((ROOT / target.partition("#")[0].removeprefix("../../")).is_file() for target in files)


def test_the_scorecard_leads_to_each_claim_with_its_tests_and_odd_text_is_shown_as_it_is(folder, monkeypatch):
    *others, last = load_claims(plans.load_plan("smoke"))
    monkeypatch.setattr(facts, "load_claims", lambda plan: [*others, dataclasses.replace(last, text=ODD)])
    page = write_report()
    card = pd.read_csv(folder / "claims.csv", dtype=str, keep_default_na=False)
    tiles = re.findall(r'<a class="tile [^"]*" href="#claim-(\d+)"', page)
    _, *parts = re.split(r'<h3 id="claim-(\d+)">', page)
    sections = dict(zip(parts[::2], map(words_of, parts[1::2]), strict=True))
    assert sorted(tiles) == sorted(sections) == sorted(set(card["claim"]))
    for row in card.itertuples():
        assert row.row == "claim" or " ".join(row.note.split()) in sections[row.claim]
        assert row.test.replace("_", " ").replace("`", "") in sections[row.claim]
    assert ODD in sections[card["claim"].iloc[-1]]


def test_a_damaged_picture_is_one_sentence_and_the_old_page_stays(folder, capsys):
    before = write_report()
    (folder / "figure_7" / "figure_7.png").write_bytes(b"")
    assert cli.main(["report", "--scale", "smoke"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("error: results/smoke/figure_7/figure_7.png ")
    assert Path("results/smoke/report.html").read_text(encoding="utf-8") == before


def test_a_study_of_ones_own_needs_no_caption_and_its_title_is_shown_as_it_is(folder, monkeypatch):
    plan = plans.load_plan("smoke")
    mine = dataclasses.replace(plan.drawn["figure_7"], name="mine", title=ODD)
    mine = dataclasses.replace(plan, studies={**plan.studies, "mine": mine})
    monkeypatch.setattr(facts.Facts, "judged_plan", mine)
    (folder / "mine").mkdir()
    (folder / "mine" / "mine.png").write_bytes(PICTURE)
    assert ODD in words_of(write_report())
