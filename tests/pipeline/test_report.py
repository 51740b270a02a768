"""The report is one page that shows what is there, names what is missing, and fetches nothing."""

import base64
import csv
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from dyna_td import cli
from dyna_td.errors import UserError
from dyna_td.pipeline import results
from dyna_td.pipeline.plans import FIGURES_OF_THE_PAPER, load_plan
from dyna_td.publishing import report

ROOT = Path(__file__).parents[2]
VOID = {"meta", "img", "br", "hr"}
ODD = """<script>alert("1")</script> & 'x' \u2265 {{ 1 }}"""


def picture():
    """A white pixel as PNG."""
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"\0\xff")),
        (b"IEND", b""),
    )
    packed = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


class Page(HTMLParser):
    """The elements of a page, each with its attributes and its text, which is found by the ids around it too."""

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

    def rows(self, caption):
        """The cells of the tables whose caption begins with `caption`, a list for each row below the headings."""
        texts = []
        for table in [i for i, e in enumerate(self.elements) if e["tag"] == "table"]:
            inside = self.elements[table + 1 :]
            if inside[0]["text"].startswith(caption):
                end = next((i for i, e in enumerate(inside) if e["tag"] in ("table", "section")), len(inside))
                for element in inside[:end]:
                    if element["tag"] == "tr":
                        texts.append([])
                    elif element["tag"] == "td":
                        texts[-1].append(element["text"])
        return [row for row in texts if row]


def write_run(directory, plan, run, **details):
    """Results of `run` with the costs 60, 30 and 6 seconds of training, compiling and evaluating."""
    asked = {**results.describe(run.with_learning_rate(0.01) if run.sweep else run), "run": run.name}
    records = pd.DataFrame({"seed": run.seeds, "step": run.steps, "metric": "test_rmse", "value": 1.0})
    told = {"train_seconds": 60.0, "compile_seconds": 30.0, "evaluate_seconds": 6.0, "cpu": "A CPU"}
    told |= {"versions": {"python": "3.11.0"}, "git_commit": "0123456789abcdef", "git_dirty": False}
    results.write(results.run_csv(plan.scale, run.name, directory), records, {**asked, **told, **details})


def write_benchmark(directory, plan, job, seconds, memory):
    path = results.benchmark_tsv(plan.scale, job, directory)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"s\th:m:s\tmax_rss\tmax_vms\tcpu_time\n{seconds}\t0:00:01\t{memory}\t-\tNA\n")


def draw(directory, scale, *figures):
    for figure in figures:
        png = directory / scale / figure / f"{figure}.png"
        png.parent.mkdir(parents=True)
        png.write_bytes(picture())
        png.with_name("curves.csv").write_text("panel\n")


@pytest.fixture(scope="module")
def plan():
    return load_plan("smoke")


@pytest.fixture(scope="module")
def shared(plan):
    """A run of the sin task that figures 1 and 10 show."""
    run = plan.figures["figure_1"].panels["b"].curves["l2"]
    assert run in plan.figures["figure_10"].runs and run.sweep == (0.01, 0.001)
    return run


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """The claims.csv of a folder without runs."""
    directory = tmp_path_factory.mktemp("claims")
    assert cli.main(["claims", "--scale", "smoke", "--results", str(directory)]) == 0
    return (directory / "smoke" / "claims.csv").read_text()


@pytest.fixture
def folder(tmp_path, monkeypatch, verdicts):
    """Results in which figures 1 and 7 are drawn and the claims are judged; commands write there."""
    monkeypatch.chdir(tmp_path)
    draw(tmp_path / "results", "smoke", "figure_1", "figure_7")
    (tmp_path / "results" / "smoke" / "claims.csv").write_text(verdicts)
    return tmp_path / "results"


def write_report(scale="smoke"):
    assert cli.main(["report", "--scale", scale]) == 0
    return results.report_html(scale).read_text(encoding="utf-8")


def test_every_figure_is_shown_with_its_caption_or_missing_with_the_command_that_makes_it(folder):
    page = Page(write_report())
    for figure in FIGURES_OF_THE_PAPER:
        words = page.section(figure)
        if figure in ("figure_1", "figure_7"):
            rst = (ROOT / "figures" / "captions" / f"{figure}.rst").read_text()
            assert " ".join(rst.replace("**", "").split()) in words
            assert f"{figure}/{figure}.png, drawn from {figure}/curves.csv" in words
        else:
            assert f"missing here: make {figure} SCALE=smoke" in words
    shown = [base64.b64decode(image["src"].partition("base64,")[2]) for image in page.all("img")]
    assert shown == [picture(), picture()]
    assert [image["alt"][:9] for image in page.all("img")] == ["Figure 1:", "Figure 7:"]


def test_a_study_is_shown_once_it_is_drawn(folder):
    assert "Beyond the paper" not in " ".join(write_report().split())
    draw(folder, "smoke", "controls")
    words = Page(write_report()).section("controls")
    assert words.startswith("Beyond the paper: controls")
    assert "controls/controls.png, drawn from controls/curves.csv" in words


def test_in_a_fresh_clone_everything_is_missing_and_nothing_is_trained(tmp_path, monkeypatch, fake_training, capsys):
    monkeypatch.chdir(tmp_path)
    page = Page(write_report())
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "results/smoke/report.html (scale smoke: no evidence); missing in it:"
    missing = [f"  Figure {n}: make figure_{n} SCALE=smoke" for n in range(1, 15)]
    assert out[1:] == [*missing, "  verdicts: make claims SCALE=smoke"]
    assert "make claims SCALE=smoke" in page.section("claims") and not page.all("img")
    assert fake_training == [] and [path.name for path in tmp_path.rglob("*.*")] == ["report.html"]


def test_when_all_is_there_the_page_is_complete_and_has_each_picture_once(folder, capsys):
    draw(folder, "smoke", *(name for name in FIGURES_OF_THE_PAPER if name not in ("figure_1", "figure_7")))
    page = Page(write_report())
    assert capsys.readouterr().out == "results/smoke/report.html (scale smoke: no evidence): complete.\n"
    assert [image["alt"].split(":")[0] for image in page.all("img")] == [f"Figure {n}" for n in range(1, 15)]


def test_a_figure_that_has_no_experiment_is_not_available_yet(folder, experiments_copy, capsys):
    (experiments_copy / "figure_14.yaml").unlink()
    assert cli.main(["report", "--scale", "smoke", "--experiments", str(experiments_copy)]) == 0
    assert "  Figure 14: not available yet\n" in capsys.readouterr().out
    assert "is not available yet" in Page(results.report_html("smoke").read_text()).section("figure_14")


def test_the_page_fetches_nothing_and_its_links_lead_somewhere(folder):
    text = write_report()
    page = Page(text)
    assert {"script", "link", "iframe", "object", "embed", "base", "form", "video"}.isdisjoint(
        element["tag"] for element in page.elements
    )
    sources = [
        element[key] for element in page.elements for key in ("src", "srcset", "poster", "data") if key in element
    ]
    assert sources and all(source.startswith("data:image/png;base64,") for source in sources)
    assert not [key for element in page.elements for key in element if key.startswith("on")]
    assert not re.search(r"url\(|@import|@font-face", page.all("style")[0]["text"])
    ids = [element["id"] for element in page.elements if "id" in element]
    assert len(ids) == len(set(ids))
    targets = {link["href"] for link in page.all("a")}
    assert {target for target in targets if not target.startswith("#")} == {"https://arxiv.org/abs/2007.09569"}
    assert {target[1:] for target in targets if target.startswith("#")} <= set(ids)
    policies = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]


def test_every_row_of_the_verdicts_is_there(folder, verdicts):
    page = Page(write_report())
    items = {item["id"]: " ".join(item["text"].split()) for item in page.all("li") if "id" in item}
    card = list(csv.DictReader(verdicts.splitlines()))
    claims = [row for row in card if row["row"] == "claim"]
    assert list(items) == [f"claim_{row['claim']}" for row in claims] and len(claims) == 47
    for row in claims:
        assert items[f"claim_{row['claim']}"].startswith(f"{row['claim']}. {row['verdict']}")
        assert " ".join(row["note"].split()) in items[f"claim_{row['claim']}"]
        tests = [test for test in card if (test["row"], test["claim"]) == ("test", row["claim"])]
        shown = page.rows(f"From claims.csv, rows of claim {row['claim']}.")
        assert [cells[0] for cells in shown] == [test["test"] for test in tests]
    assert "6 supported, 0 contradicted, 0 undecided, 41 not run." in page.section("claims")


def test_odd_text_is_shown_as_it_is(folder, plan, shared, verdicts):
    rows = list(csv.DictReader(verdicts.splitlines()))
    rows[-1]["note"] = ODD
    with open(folder / "smoke" / "claims.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    write_run(folder, plan, shared, cpu=ODD)
    page = Page(write_report())
    assert page.all("script") == []
    assert ODD in page.section("claims") and ODD in page.section("provenance")


def test_equal_results_give_equal_bytes_wherever_they_are(folder, plan, shared, tmp_path):
    write_run(folder, plan, shared)
    write_benchmark(folder, plan, shared.name, 90, 700)
    first = write_report()
    assert write_report() == first
    elsewhere = tmp_path / "other place"
    shutil.copytree(folder, elsewhere)
    assert cli.main(["report", "--scale", "smoke", "--results", str(elsewhere)]) == 0
    assert (elsewhere / "smoke" / "report.html").read_text(encoding="utf-8") == first
    assert str(tmp_path) not in first


def test_costs_count_shared_jobs_for_each_figure_and_once_in_all(folder, plan, shared):
    write_run(folder, plan, shared)
    write_benchmark(folder, plan, shared.name, 90, 700.4)
    write_benchmark(folder, plan, "figure_1.aggregate", 30, "-")
    write_benchmark(folder, plan, "figure_10.plot", 6, 120)
    costs = {cells[0]: cells[1:] for cells in Page(write_report()).rows("A job has one core,")}
    swept = {name: sum(bool(run.sweep) for run in plan.figures[name].runs) for name in ("figure_1", "figure_10")}
    count = {name: len(plan.figures[name].runs) + swept[name] + 2 for name in swept}
    assert costs["Figure 1"] == [f"2 of {count['figure_1']}", "2.0", "1.0", "0.5", "0.1", "700"]
    assert costs["Figure 10"] == [f"2 of {count['figure_10']}", "1.6", "1.0", "0.5", "0.1", "700"]
    assert costs["all, each job once"][1:] == ["2.1", "1.0", "0.5", "0.1", "700"]
    assert costs["Figure 2"][1:] == [""] * 5


def test_jobs_name_their_files_and_whether_settings_and_code_are_those_that_are_here(folder, plan, shared):
    others = [run for run in plan.figures["figure_1"].runs if run != shared]
    write_run(folder, plan, shared, diverged_seeds={"1": 50})
    write_run(folder, plan, others[0], source_digest="another", git_dirty=True)
    sweep = {**results.describe(shared), "seeds": [1000], "learning_rate": 0.01}
    nothing = pd.DataFrame(columns=results.SWEEP_COLUMNS, dtype=float)
    results.write(results.selection_csv("smoke", shared.name, folder), nothing, sweep)
    page = Page(write_report())
    jobs = {cells[0]: cells[1:] for cells in page.rows("A job's numbers")}
    assert jobs[shared.name] == ["0 to 1", "100", "0.01", "", "", "1", "0123456789", "current"]
    assert jobs[f"{shared.name}.selection"] == ["1000", "100", "0.01 chosen", "", "", "", "unknown", "current"]
    assert jobs[others[0].name][-2:] == ["0123456789+", "other"]
    assert jobs[others[1].name][-2:] == ["", "missing"]
    count = sum(1 + bool(run.sweep) for run in plan.figures["figure_1"].runs)
    words = page.section("figure_1")
    assert f"1 of {count} jobs behind this figure had other settings, or other code" in words
    assert f"The results of {count - 3} of {count} jobs behind this figure are missing" in words


def test_origins_are_grouped_and_dated(folder, plan, shared):
    others = [run for run in plan.figures["figure_1"].runs if run != shared]
    for run, day in ((shared, 20_000), (others[0], 20_001)):
        write_run(folder, plan, run)
        os.utime(results.provenance_json(results.run_csv("smoke", run.name)), (86_400 * day + 1,) * 2)
    write_run(folder, plan, others[1], git_commit=None, cpu="Another CPU")
    known, unknown = Page(write_report()).rows("From runs/")
    assert known == ["2", "0123456789", "python 3.11.0", "A CPU", "2024-10-04 to 2024-10-05"]
    assert unknown[:4] == ["1", "unknown", "python 3.11.0", "Another CPU"]


def test_only_the_scale_of_the_paper_is_not_labelled(folder):
    small = Page(write_report())
    draw(folder, "paper", "figure_1", "figure_7")
    large = Page(write_report("paper"))
    assert "Not evidence." in small.all("body")[0]["text"] and "not evidence" in small.all("title")[0]["text"]
    labelled = [heading["id"] for heading in small.all("h3") if "smoke: not evidence" in heading["text"]]
    assert labelled == ["figure_1"]  # figure 7 is computed, not trained
    assert "evidence" not in large.all("body")[0]["text"].lower() + large.all("title")[0]["text"]


TABLE = r"""
## Deviations

| a | b |
|---|---|
| \|e\| `x_y` | [envs/a.py](envs/a.py) <b> |

## Next

| c |
|---|
| d |
"""


def test_the_deviations_are_those_of_the_readme(folder):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (\d+) \| (.*?) \|", readme.partition("## Deviations")[2], re.MULTILINE)
    rows = Page(write_report()).rows("Where the paper is silent")
    assert [row[0] for row in rows] == [number for number, _ in lines] and len(rows) > 50
    assert all(len(row) == 6 for row in rows)
    assert report.deviations(TABLE) == {
        "headings": ["a", "b"],
        "rows": [["|e| <code>x_y</code>", "envs/a.py &lt;b&gt;"]],
    }
    with pytest.raises(UserError, match="no table below the heading Deviations"):
        report.deviations("# Nothing\n")


def test_captions_are_rendered_and_mistakes_in_them_are_told(tmp_path):
    path = tmp_path / "figure_1.rst"
    path.write_text("**Bold (a < b).** Sum over \\|p - p*\\|.\n\nNext.\n")
    assert report.caption(path) == "<p><strong>Bold (a &lt; b).</strong> Sum over |p - p*|.</p>\n<p>Next.</p>\n"
    for bad in ("**never closed\n", ".. raw:: html\n\n   <script>x</script>\n", ".. include:: /etc/hostname\n"):
        path.write_text(bad)
        with pytest.raises(UserError, match=r"figure_1\.rst is no valid reStructuredText: .*; correct it"):
            report.caption(path)
    with pytest.raises(UserError, match="No such file or directory; write the figure's caption there"):
        report.caption(tmp_path / "figure_2.rst")


DAMAGE = {
    "figure_1/figure_1.png": (b"PNG", "expected a PNG picture: delete it and call `make figure_1 SCALE=smoke`"),
    "claims.csv": (b"claim,row\n1,claim\n", "call `make claims SCALE=smoke`"),
    "benchmarks/figure_1.plot.tsv": (b"", "is damaged; delete it, and its job counts as not measured"),
    "benchmarks/figure_2.plot.tsv": (b"s\th:m:s\n1\t2\n", "is damaged; delete it"),
    "benchmarks/figure_3.plot.tsv": (b"s\tmax_rss\tcpu_time\n", "is damaged; delete it"),
    "benchmarks/figure_4.plot.tsv": (b"s\tmax_rss\tcpu_time\nNA\t1\t1\n", "is damaged; delete it"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_is_told_in_one_sentence_and_the_old_page_stays(name, folder, capsys):
    before = write_report()
    content, sentence = DAMAGE[name]
    (folder / "smoke" / name).parent.mkdir(exist_ok=True)
    (folder / "smoke" / name).write_bytes(content)
    capsys.readouterr()
    assert cli.main(["report", "--scale", "smoke"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: results/smoke/{name} ") and sentence in err and err.count("\n") == 1
    assert results.report_html("smoke").read_text(encoding="utf-8") == before


WHOLE = {"csv_sha256": "", "settings": {"learning_rate": 0.01}, "seeds": [0], "steps": 5}


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[]", '{"csv_sha256": 1}', '{"csv_sha256": ""}'),
        *(json.dumps(WHOLE | {key: "x"}) for key in ("settings", "steps", "train_seconds", "versions")),
    ],
)
def test_a_damaged_json_file_of_a_run_is_told_with_the_command_that_makes_it(content, folder, plan, shared, capsys):
    write_run(folder, plan, shared)
    path = results.provenance_json(results.run_csv("smoke", shared.name))
    assert json.loads(path.read_text())["run"] == shared.name
    path.write_text(content)
    assert cli.main(["report", "--scale", "smoke"]) == 2
    rebuild = f"python -m dyna_td run {shared.name} --scale smoke"
    assert capsys.readouterr().err == f"error: {path} is damaged; rebuild it with `{rebuild}`.\n"


def test_the_report_imports_no_tensorflow(tmp_path):
    code = "import sys; from dyna_td import cli; cli.main(['report']); sys.exit('tensorflow' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment).returncode == 0
