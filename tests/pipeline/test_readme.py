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
from dyna_td.pipeline import estimate, results
from dyna_td.pipeline.costs import read_table
from dyna_td.pipeline.plans import load_plan
from dyna_td.publishing import marked_text, readme, reference

ROOT = Path(__file__).parents[2]
PLAN = load_plan("paper")
STATED = load_claims(PLAN)
READ = readings.load_readings(PLAN, STATED)
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
        reference.publish(PLAN, PLAN.figure(name), folder / "results", folder / "reference")
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


def write_provenance(directory, figure, told):
    path = reference.provenance_json(figure, directory)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(told))


def judged(folder, *numbers):
    """The verdicts on the claims of these numbers, judged anew."""
    return scorecard.scorecard([STATED[number - 1] for number in numbers], PLAN, reference.reader(folder))


def verdicts(card):
    return card[card["row"] == "claim"].set_index("claim")["verdict"].to_dict()


def test_published_runs_are_judged_as_the_results_that_they_come_from(folder, finished_figure, tmp_path, capsys):
    reference.claims_csv(folder).unlink()
    assert cli.main(["claims", "--reference"]) == 0
    published = scorecard.read_card(reference.claims_csv(folder), STATED, "")
    said = capsys.readouterr().out
    assert said.startswith("reference/claims.csv and claims.md: 8 supported, 1 contradicted, 1 undecided, 37 not run.")
    assert "claims 43, 44: make figure_14 SCALE=paper\n" in said and said.endswith("make reference\n")
    assert {number: verdicts(published)[number] for number in VERDICTS} == VERDICTS
    copy = tmp_path / "results"
    assert (
        cli.main(["claims", "--scale", "paper", "--results", str(shutil.copytree(finished_figure / "results", copy))])
        == 0
    )
    fresh = scorecard.read_card(results.claims_csv("paper", copy), STATED, "")
    assert set(fresh["sources"]) == {"current", ""} and set(published["sources"]) == {"current", "published", ""}
    pd.testing.assert_frame_equal(published.drop(columns="sources"), fresh.drop(columns="sources"))
    assert "supported" in (folder / "claims.md").read_text() and "evidence" not in (folder / "claims.md").read_text()


def change(folder, update):
    """Changes what is told of a run of figure 9."""
    told = reference.read_provenance(FIGURE.name, folder)
    update(told["runs"][RUN.name])
    write_provenance(folder, FIGURE.name, told)


def test_a_verdict_on_runs_of_other_settings_than_the_plans_is_marked(folder):
    change(folder, lambda run: run["settings"].update(batch_size=64))
    card = judged(folder, 16)
    assert set(card["sources"]) == {"other"}
    text = readme.judged_claims(PLAN, [STATED[15]], card, {}, folder)
    assert "| supported* |" in text and "Verdicts marked * rest on runs of other settings" in text


def test_a_setting_that_is_younger_than_a_published_run_had_its_default(folder):
    defaults = type(RUN.settings)()
    assert RUN.settings.batch_size == defaults.batch_size and RUN.settings.noise != defaults.noise
    change(folder, lambda run: run["settings"].pop("batch_size"))
    assert set(judged(folder, 16)["sources"]) == {"published"}
    change(folder, lambda run: run["settings"].pop("noise"))
    assert set(judged(folder, 16)["sources"]) == {"other"}


def truncate(path):
    path.write_bytes(path.read_bytes()[:-9])


def exchange(path):
    path.write_bytes(reference.run_csv(FIGURE.panels["b"].curves["l2"].name, "reference").read_bytes())


def lose_a_seed(path):
    lines = lzma.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("7,"))
    path.write_bytes(lzma.compress(text.encode()))
    change(Path("reference"), lambda run: run.update(csv_sha256=results.checksum(text.encode())))


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (truncate, ".* is damaged; get it again with `git checkout"),
        (exchange, ".* is not what figure_9 tells of; publish it again with `make reference FIGURES=figure_9`"),
        (lose_a_seed, ".* lacks seed 7; rebuild it with `make reference FIGURES=figure_9`"),
        (Path.unlink, "cannot read .*: No such file or directory; get it again with `git checkout"),
    ],
)
def test_a_doubtful_published_run_is_named_and_nothing_is_judged(folder, capsys, damage, sentence):
    path = reference.run_csv(RUN.name, folder)
    before = reference.claims_csv(folder).read_bytes()
    damage(path)
    assert cli.main(["claims", "--reference"]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(f"error: {sentence}.*\n", said) and path.name in said, said
    assert reference.claims_csv(folder).read_bytes() == before


def test_without_any_published_figure_nothing_is_judged(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["claims", "--reference", "nowhere"]) == 2
    assert capsys.readouterr().err.startswith("error: nowhere holds no published figure")
    assert not (tmp_path / "nowhere").exists()


@pytest.fixture(scope="module")
def model():
    """Estimates from other scales than the paper's, of which no job is measured then."""
    table = read_table()
    return estimate.CostModel(table[table["scale"] != "paper"].reset_index(drop=True))


def rows_of(table):
    """The cells of each line of a table in Markdown, by the first one's number."""
    lines = [line[2:-2].split(" | ") for line in table.splitlines() if re.match(r"\| [^|]*\d", line)]
    return {re.search(r"(?:\*\*|^)(\d+)", cells[0])[1]: cells for cells in lines}


def test_a_figure_has_its_picture_claim_verdicts_command_and_cost(folder, card, model):
    costs = iter([90.0, 30.0, *[12.0] * 100])  # seconds: 2 minutes, and 0.2 for each of the other jobs

    told = reference.read_provenance(FIGURE.name, folder)
    for run in told["runs"].values():
        for key in ("cost", "selection_cost"):
            run[key]["core_seconds"] = next(costs)
    write_provenance(folder, FIGURE.name, told)
    rows = rows_of(readme.gallery(PLAN, STATED, card, model, folder))
    assert list(rows) == [str(number) for number in range(1, 15)]
    png = "reference/figure_9/figure_9.png"
    assert rows["9"] == [
        f'<a href="{png}"><img src="{png}" width="220" alt="Figure 9"></a><br>**9**: {FIGURE.shows}',
        FIGURE.claim,
        "[2 supported, 1 contradicted, 1 undecided](#does-the-data-bear-the-paper-out)",
        "`make figure_9`",
        f"{2 + 0.2 * (2 * len(FIGURE.runs) - 2):.2g}",
    ]
    assert rows["8"][2].startswith("[3 supported]") and rows["8"][4] == "< 0.1 (estimate)"


def test_a_figure_that_is_not_published_has_no_picture_and_no_verdict(folder, card, model):
    rows = rows_of(readme.gallery(PLAN, STATED, card, model, folder))
    assert rows["2"][0].startswith("**2**: ") and rows["2"][2] == "not run at paper scale yet"
    assert rows["2"][4].endswith(" (estimate)")
    assert rows["7"][0].startswith("**7**: ") and rows["7"][2].startswith("[1 supported]")  # computed, not run


def test_a_figure_of_which_some_runs_are_stored_says_how_many(folder, card, model):
    first, *_ = PLAN.figure("figure_14").runs
    path = reference.run_csv(first.name, folder)
    path.parent.mkdir(parents=True)
    path.touch()
    rows = rows_of(readme.gallery(PLAN, STATED, card, model, folder))
    assert rows["14"][2] == "1 of 4 runs finished at paper scale" and rows["14"][0].startswith("**14**: ")


def test_a_judged_claim_has_its_words_verdict_effect_and_seeds(folder, card):
    text = readme.judged_claims(PLAN, STATED, card, {}, folder)
    assert text.startswith(
        "Of 47 claims: **8 supported, 1 contradicted, 1 undecided**; 37 are not run yet at the paper's"
    )
    assert "[reference/claims.md](reference/claims.md)" in text
    rows = rows_of(text)
    assert list(rows) == ["1", "3", "4", "5", "6", "7", "15", "16", "17", "18"]
    words, verdict, effect, seeds, place = rows["17"][1:]
    claim = STATED[16]
    assert (words, verdict, seeds, place) == (claim.text, "contradicted", "50", claim.place)
    alike, worse = effect.split("<br>")
    assert re.fullmatch(r"figure 9/b, cubic less l2: \+\d(\.\d+)?% \[.*%, .*%\] \(supported\)", alike), alike
    told = re.fullmatch(r"figure 9/b, power4 less l2: (\S+) \[(\S+), (\S+)\] RMSE", worse)
    difference, low, high = map(float, told.groups())
    records = {
        curve: reference.reader(folder)(FIGURE.panels["b"].curves[curve]).values("test_rmse")
        for curve in ("power4", "l2")
    }
    mean = np.mean([(records["power4"] - records["l2"])[step].mean() for step in records["l2"].columns if step > 0])
    assert low < difference < high < 0 and difference == pytest.approx(mean, rel=0.01)
    assert rows["1"][4] == "exact"


def test_a_claim_with_many_tests_tells_how_they_came_out(folder, card):
    gain = {claim.number: claim for claim in STATED}[31]
    assert len(gain.tests) == 8
    own = card["claim"] == 31

    def effects(*contradicted):
        """What is told of the claim's effect if these of its tests contradict it, by 30, and the others support it."""
        card.loc[own, ["verdict", "effect", "unit", "note"]] = ["supported", 20.0, "reward", ""]
        card.loc[own & card["test"].isin(contradicted), ["verdict", "effect"]] = ["contradicted", -30.0]
        verdict = "contradicted" if contradicted else "supported"
        card.loc[own & (card["row"] == "claim"), ["verdict", "effect", "note"]] = [verdict, np.nan, "the counts"]
        return rows_of(readme.judged_claims(PLAN, STATED, card, {}, folder))["31"][3]

    names = [test.label for test in gain.tests]
    assert effects() == "the counts"
    assert effects(names[0], names[5]) == f"the counts<br>{names[0]}: -30 reward<br>{names[5]}: -30 reward"
    assert effects(*names[:5]) == "the counts"


@pytest.fixture
def findings(tmp_path):
    """Reads findings from a file with these entries."""

    def read(*entries):
        (tmp_path / "findings.yaml").write_text(yaml.safe_dump({"findings": list(entries)}))
        return load_findings(range(1, 48), tmp_path)

    return read


def test_a_finding_follows_the_claims_and_one_on_another_verdict_is_left_out(folder, card, findings):
    found = findings(
        {"claim": 17, "verdict": "contradicted", "text": "Power4 is\nbetter."},
        {"claim": 16, "verdict": "contradicted", "text": "An old story."},
        {"claim": 43, "verdict": "undecided", "text": "A guess."},
    )
    text = readme.judged_claims(PLAN, STATED, card, found, folder)
    assert (
        text.endswith("\n\n**Claim 17, contradicted.** Power4 is better.\n")
        and "story" not in text
        and "guess" not in text
    )
    assert readme.open_findings(card, found) == [
        "claim 16 is supported, but its finding explains contradicted: it is left out.",
        "claim 18 is undecided: a finding in experiments/findings.yaml would explain it.",
        "claim 43 is not run, but its finding explains undecided: it is left out.",
    ]


ENTRY = {"claim": 17, "verdict": "contradicted", "text": "t"}


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([ENTRY, ENTRY], "claim 17 has two findings"),
        ([ENTRY | {"verdict": "not run"}], 'findings.0.verdict is "not run", expected one of supported'),
        ([ENTRY | {"claim": 48}], "findings.0.claim is 48, expected at most 47"),
        ([ENTRY | {"text": ""}], "findings.0.text is empty"),
        ([{"claim": 17, "text": "t"}], "findings.0 lacks verdict"),
    ],
)
def test_a_mistake_in_a_finding_is_told_in_one_sentence(findings, entries, sentence):
    with pytest.raises(UserError, match=re.escape(sentence)):
        findings(*entries)


def test_a_finding_on_a_claim_that_is_not_stated_is_refused(tmp_path, findings):
    findings(ENTRY)
    with pytest.raises(UserError, match=r"there is no claim 17: take a number of claims\.yaml"):
        load_findings([1, 2], tmp_path)


def test_all_parts_of_the_readme_are_written_or_none(folder, experiments_copy, capsys):
    (experiments_copy / "findings.yaml").write_text("findings: []\n")
    write = ["readme", "--experiments", str(experiments_copy), "--write", "README.md"]
    page = Path("README.md")
    begin, end = marked_text.marks(readme.GALLERY)
    page.write_text(f"before\n{begin}\n{end}\nafter\n")
    capsys.readouterr()
    assert cli.main(write) == 2
    assert "README.md has 0 places for published claims" in capsys.readouterr().err
    assert page.read_text() == f"before\n{begin}\n{end}\nafter\n"
    rest = "\n".join((*marked_text.marks(readme.CLAIMS), *marked_text.marks(readme.READINGS)))
    page.write_text(f"before\n{begin}\n{end}\nafter\n{rest}\n")
    assert cli.main(write) == 0
    assert "claim 17 is contradicted: a finding in" in capsys.readouterr().out
    assert cli.main(write[:-2]) == 0
    parts = capsys.readouterr().out
    assert parts.count("\n| ") > 20 and all(line in page.read_text() for line in parts.splitlines())


def test_a_readme_needs_verdicts_on_the_claims_as_they_are(folder, card, capsys):
    reference.claims_csv(folder).unlink()
    assert cli.main(["readme"]) == 2
    assert capsys.readouterr().err == (
        "error: cannot read reference/claims.csv: No such file or directory; call `make readme`.\n"
    )
    card[card["claim"] != 17].to_csv(reference.claims_csv(folder), index=False)
    assert cli.main(["readme"]) == 2
    assert "is not a table of the claims as they are now: call `make readme`" in capsys.readouterr().err


def test_every_figure_says_what_it_shows_and_what_the_paper_claims():
    for figure in PLAN.figures.values():
        assert figure.shows and figure.claim.endswith("."), figure.name
        assert any(figure.name in claim.figures for claim in STATED)


def test_the_readmes_tables_follow_from_what_is_published(monkeypatch):
    monkeypatch.chdir(ROOT)
    model = estimate.CostModel(read_table())
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    card = scorecard.read_card(reference.claims_csv(), STATED, "make readme")
    found = load_findings([claim.number for claim in STATED])
    for part, content in {
        readme.GALLERY: readme.gallery(PLAN, STATED, card, model, reference.DIRECTORY),
        readme.CLAIMS: readme.judged_claims(PLAN, STATED, card, found, reference.DIRECTORY),
        readme.READINGS: readme.other_readings(
            card, readings.read_table(readings.beside(reference.claims_csv()), READ, "make readme")
        ),
    }.items():
        begin, end = marked_text.marks(part)
        assert f"{begin}\n{content}{end}" in text, "run `make readme`"
    assert f"\n## {readme.CLAIMS_HEADING}\n" in text
    for picture in re.findall(r'<img src="(.*?)"', text):
        assert (ROOT / picture).exists()


def test_the_short_answer_names_each_claim_once_under_its_verdict():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.split("\n## What holds, in short\n")[1].split("\n## ")[0]
    short = {}
    marks = {
        "Holds": "supported",
        "Undecided": "undecided",
        "Hangs on open numbers": "contradicted",
        "Does not hold": "contradicted",
        "Not run yet": "not run",
    }
    for mark, verdict in marks.items():
        told = section.partition(f"- **{mark}.**")[2].split("\n- **")[0]
        for group in re.findall(r"\(([\d,\sto]+)\)", told):
            for part in group.split(","):
                first, *last = map(int, part.split("to"))
                for number in range(first, (last or [first])[0] + 1):
                    assert number not in short, f"claim {number} is named twice"
                    short[number] = verdict
    kept = scorecard.read_card(reference.claims_csv(ROOT / "reference"), STATED, "make readme")
    assert short == verdicts(kept)


@pytest.mark.parametrize("of", ["claims", "readings"])
def test_the_published_verdicts_are_those_of_the_published_runs(of):
    read, csv = reference.reader(ROOT / "reference"), reference.claims_csv(ROOT / "reference")
    if of == "claims":
        kept, card = scorecard.read_card(csv, STATED, "make readme"), scorecard.scorecard(STATED, PLAN, read)
    else:
        kept = readings.read_table(readings.beside(csv), READ, "make readme")
        card = readings.judged(READ, PLAN, read)
    numbers = ["margin", "effect", "low95", "high95", "iqm", "p_supported", "p_contradicted"]
    said = [name for name in kept.columns if name not in numbers]
    assert kept[said].astype(str).to_numpy().tolist() == card[said].fillna("").astype(str).to_numpy().tolist(), (
        "make readme"
    )
    # Other machines add in another order, so the last digits may differ; errors of rounding themselves entirely.
    mine, theirs = (table[numbers].to_numpy(float) for table in (card, kept))
    np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-5)
