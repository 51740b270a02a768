"""The published runs are judged as fresh ones are, and README's tables of figures and claims follow from them alone."""

import json
import lzma
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from dyna_td import cli
from dyna_td.errors import UserError
from dyna_td.evidence import readings, scorecard
from dyna_td.evidence.claims import load_claims
from dyna_td.evidence.findings import load_findings
from dyna_td.pipeline import results
from dyna_td.pipeline.plans import load_plan
from dyna_td.publishing import marked_text, readme, reference, store

ROOT = Path(__file__).parents[2]
PLAN = load_plan("paper")
STATED = load_claims(PLAN)
FIGURE = PLAN.figure("figure_9")
RUN = FIGURE.panels["a"].curves["l2"]
# Errors of each learner with little (a) and much noise (b); with them claims 15 to 18, on this figure, are, in turn:
ERRORS = {"a": {"l2": 120, "cubic": 110, "power4": 110}, "b": {"l2": 200, "cubic": 202, "power4": 190}}
VERDICTS = {15: "supported", 16: "supported", 17: "contradicted", 18: "undecided"}


@pytest.fixture(scope="module")
def finished_figure(tmp_path_factory, finish):
    """A folder with the results of figure 9 and what was published of them, beside closed forms."""
    folder = tmp_path_factory.mktemp("published")
    for panel, errors in ERRORS.items():
        for curve, error in errors.items():
            also = ("test_rmse_low", "test_rmse_high")  # which claims on other figures compare
            finish(FIGURE.panels[panel].curves[curve], folder / "results", level=error, also=also)
    for run in FIGURE.runs:
        if not results.run_csv("paper", run.name, folder / "results").exists():
            finish(run, folder / "results")
    for name in ("figure_8", "figure_9"):
        store.publish(PLAN, PLAN.figure(name), folder / "results", folder / "reference")
    assert cli.main(["claims", "--reference", str(folder / "reference")]) == 0
    return folder


@pytest.fixture
def folder(finished_figure, tmp_path, monkeypatch):
    """A copy of the published results and their verdicts, without the others, in the current folder."""
    shutil.copytree(finished_figure / "reference", tmp_path / "reference")
    monkeypatch.chdir(tmp_path)
    return Path("reference")


@pytest.fixture
def card(folder):
    """The verdicts by the published runs."""
    return scorecard.read_card(reference.claims_csv(folder), STATED, "")


def verdicts(card):
    return card[card["row"] == "claim"].set_index("claim")["verdict"].to_dict()


def test_published_runs_are_judged_as_the_results_that_they_come_from(folder, card, finished_figure, tmp_path):
    assert {number: verdicts(card)[number] for number in VERDICTS} == VERDICTS
    copy = str(shutil.copytree(finished_figure / "results", tmp_path / "results"))
    assert cli.main(["claims", "--scale", "paper", "--results", copy]) == 0
    fresh = scorecard.read_card(results.claims_csv("paper", copy), STATED, "")
    assert set(fresh["sources"]) == {"current", ""} and set(card["sources"]) == {"current", "published", ""}
    pd.testing.assert_frame_equal(card.drop(columns="sources"), fresh.drop(columns="sources"))


def change(update):
    """Changes what the JSON file of a published run tells."""
    path = reference.stored(f"{RUN.name}.json")
    details = json.loads(path.read_text())
    update(details)
    path.write_text(json.dumps(details))


@pytest.mark.parametrize(
    ("update", "sources"),
    [
        (lambda details: details["settings"].update(batch_size=64), "other"),
        (
            lambda details: details["settings"].pop("batch_size"),
            "published",
        ),  # younger than the run: it had its default
        (lambda details: details["settings"].pop("noise"), "other"),  # whose default is not what the plan asks
    ],
)
def test_a_verdict_on_runs_of_other_settings_than_the_plans_is_marked(folder, update, sources):
    change(update)
    card = scorecard.scorecard([STATED[15]], PLAN, reference.reader(folder))
    assert set(card["sources"]) == {sources}
    text = readme.judged_claims(PLAN, [STATED[15]], card, {}, folder)
    assert ("| supported* |" in text) == ("Verdicts marked *" in text) == (sources == "other")


def lose_a_seed(path):
    lines = lzma.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("7,")).encode()
    path.write_bytes(lzma.compress(text))
    change(lambda details: details.update(csv_sha256=results.checksum(text)))


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), ".* is damaged; get it again with `git checkout"),
        (lambda path: path.write_bytes(lzma.compress(b"")), ".* is not what the JSON file beside it tells of; get it"),
        (lose_a_seed, ".* lacks seed 7; rebuild it with `make reference`"),
        (Path.unlink, "cannot read .*: No such file or directory; get it again with `git checkout"),
    ],
)
def test_a_doubtful_published_run_is_named_and_nothing_is_judged(folder, capsys, damage, sentence):
    path = reference.stored(f"{RUN.name}.csv")
    before = reference.claims_csv().read_bytes()
    damage(path)
    assert cli.main(["claims", "--reference"]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(f"error: {sentence}.*\n", said) and path.name in said, said
    assert reference.claims_csv().read_bytes() == before


def rows_of(table):
    """The cells of each line of a table in Markdown, by the first one's number."""
    lines = [line[2:-2].split(" | ") for line in table.splitlines() if re.match(r"\| [^|]*\d", line)]
    return {re.search(r"(?:\*\*|^)(\d+)", cells[0])[1]: cells for cells in lines}


def test_a_figure_has_its_picture_claim_verdicts_command_and_measured_cost(folder, card):
    seconds = iter([90.0, 30.0, *[12.0] * 100])  # 2 minutes, and 0.2 for each of the other jobs
    for path in sorted((folder / "runs").rglob("*.json")):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"core_seconds": next(seconds)}))
    rows = rows_of(readme.gallery(PLAN, STATED, card, folder))
    png, cost = "reference/figure_9/figure_9.png", f"{2 + 0.2 * (2 * len(FIGURE.runs) - 2):.2g}"
    words = f'<a href="{png}"><img src="{png}" width="220" alt="Figure 9"></a><br>**9**: {FIGURE.shows}'
    counts = "[2 supported, 1 contradicted, 1 undecided](#does-the-data-bear-the-paper-out)"
    assert rows["9"] == [words, FIGURE.claim, counts, "`make figure_9`", cost]
    assert [rows["2"][0][:7], *rows["2"][2:]] == ["**2**: ", "not judged yet", "`make figure_2`", "not measured"]
    assert rows["8"][2].startswith("[3 supported]") and rows["8"][4] == "0"  # no run


def test_a_judged_claim_has_its_words_verdict_effects_and_seeds(folder, card):
    text = readme.judged_claims(PLAN, STATED, card, {}, folder)
    assert text.startswith("Of 47 claims: **8 supported, 1 contradicted, 1 undecided**; 37 are not run yet")
    rows = rows_of(text)
    assert list(rows) == ["1", "3", "4", "5", "6", "7", "15", "16", "17", "18"] and rows["1"][4] == "exact"
    words, verdict, effect, seeds, place = rows["17"][1:]
    assert (words, verdict, seeds, place) == (STATED[16].text, "contradicted", "50", STATED[16].place)
    counts, worse = effect.split("<br>")
    told = re.fullmatch(r"figure 9/b, power4 less l2: (\S+) \[(\S+), (\S+)\] RMSE", worse)
    assert counts == "2 tests: 1 supported, 1 contradicted" and told
    difference, low, high = map(float, told.groups())
    read, curves = reference.reader(folder), FIGURE.panels["b"].curves
    gap = read(curves["power4"]).values("test_rmse") - read(curves["l2"]).values("test_rmse")
    mean = np.mean([gap[step].mean() for step in gap.columns if step > 0])
    assert low < difference < high < 0 and difference == pytest.approx(mean, rel=0.01)


def test_a_finding_follows_the_claims_and_one_on_another_verdict_is_left_out(folder, card, tmp_path):
    entries = [
        {"claim": 17, "verdict": "contradicted", "text": "Power4 is\nbetter."},
        {"claim": 16, "verdict": "contradicted", "text": "An old story."},
    ]
    (tmp_path / "findings.yaml").write_text(yaml.safe_dump({"findings": entries}))
    with pytest.raises(UserError, match="there is no claim 16"):
        load_findings([17], tmp_path)
    found = load_findings(range(1, 48), tmp_path)
    text = readme.judged_claims(PLAN, STATED, card, found, folder)
    assert text.endswith("\n\n**Claim 17, contradicted.** Power4 is better.\n") and "story" not in text
    assert readme.open_findings(card, found) == [
        "claim 16 is supported, but its finding explains contradicted: it is left out.",
        "claim 18 is undecided: a finding in experiments/findings.yaml would explain it.",
    ]


def test_all_parts_of_the_readme_are_written_or_none(folder, card, capsys):
    page = Path("README.md")
    marks = ["\n".join(marked_text.marks(part)) for part in (readme.GALLERY, readme.CLAIMS, readme.READINGS)]
    page.write_text(f"before\n{marks[0]}\nafter\n")
    capsys.readouterr()
    assert cli.main(["readme", "--write", "README.md"]) == 2
    assert "README.md has 0 places for published claims" in capsys.readouterr().err
    assert page.read_text() == f"before\n{marks[0]}\nafter\n"
    page.write_text("\n".join(["before", *marks, "after", ""]))
    assert cli.main(["readme", "--write", "README.md"]) == 0
    capsys.readouterr()
    assert cli.main(["readme"]) == 0
    parts = capsys.readouterr().out
    assert parts.count("\n| ") > 20 and all(line in page.read_text() for line in parts.splitlines())
    card[card["claim"] != 17].to_csv(reference.claims_csv(), index=False)
    assert cli.main(["readme"]) == 2
    assert "as they are now: call `make readme`" in capsys.readouterr().err


def test_the_published_verdicts_and_readings_are_those_of_the_published_runs():
    read, csv = reference.reader(ROOT / "reference"), reference.claims_csv(ROOT / "reference")
    others = readings.load_readings(PLAN, STATED)
    kept_card, card = scorecard.read_card(csv, STATED, ""), scorecard.scorecard(STATED, PLAN, read)
    kept_table, table = readings.read_table(readings.beside(csv), others, ""), readings.judged(others, PLAN, read)
    numbers = ["margin", "effect", "low95", "high95", "iqm", "p_supported", "p_contradicted"]
    for kept, mine in ((kept_card, card), (kept_table, table)):
        said = [name for name in kept.columns if name not in numbers]
        assert kept[said].astype(str).to_numpy().tolist() == mine[said].fillna("").astype(str).to_numpy().tolist()
        # Other machines add in another order, so the last digits may differ; errors of rounding themselves entirely.
        np.testing.assert_allclose(mine[numbers].to_numpy(float), kept[numbers].to_numpy(float), rtol=1e-3, atol=1e-5)
