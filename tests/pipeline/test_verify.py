"""`verify` names what was changed after it was written, and the command that makes it anew."""

import json

from dyna_td import cli
from dyna_td.pipeline.results import curves_csv


def verify(capsys):
    capsys.readouterr()
    status = cli.main(["verify", "--scale", "smoke"])
    output = capsys.readouterr()
    return status, output.out, output.err


def test_untouched_results_are_as_they_were_written(smoke_runs, capsys):
    status, report, _ = verify(capsys)
    assert status == 0 and f" {2 * len(smoke_runs) + 2}, all as they were written" in report


def test_an_edited_run_is_named_with_its_command(smoke_runs, capsys):
    smoke_runs[0].write_text(smoke_runs[0].read_text().replace(",0,", ",7,", 1))
    status, _, error = verify(capsys)
    assert status == 2
    assert f"{smoke_runs[0]} is truncated or was changed" in error
    assert f"rebuild it with `snakemake --force {smoke_runs[0]} --config scale=smoke`." in error
    assert f"{curves_csv('smoke', 'figure_9')} cannot be compared with its runs" in error


def test_a_sweep_without_its_json_is_named_once_with_its_command(smoke_runs, capsys):
    smoke_runs[0].with_suffix(".selection.json").unlink()
    status, _, error = verify(capsys)
    command = f"make it with `snakemake --force {smoke_runs[0].with_suffix('')}.selection.csv "
    assert status == 2 and error.count(command) == 1


EDITS = [
    (".json", "settings", {"noise": 7.0}),
    (".json", "seeds", [0]),
    (".json", "run", "sin/l2"),
    (".json", "train_seconds_at", "long"),
    (".selection.json", "learning_rate", 0.5),
    (".selection.json", "steps", 7),
]


def test_an_edited_json_file_is_named_where_it_differs_from_the_plan_or_no_curve_can_be_made_of_it(smoke_runs, capsys):
    for suffix, key, value in EDITS:
        path = smoke_runs[0].with_suffix(suffix)
        text = path.read_text()
        path.write_text(json.dumps(json.loads(text) | {key: value}))
        status, _, error = verify(capsys)
        shown = curves_csv("smoke", "figure_9") if key == "train_seconds_at" else path.with_suffix("")
        assert status == 2 and str(shown) in error.splitlines()[0], (key, error)
        path.write_text(text)


def test_edited_curves_are_noticed_although_nothing_else_was_touched(smoke_runs, capsys):
    curves = curves_csv("smoke", "figure_9")
    content = curves.read_bytes()
    for written, instead in ((b"2\n", b"3\n"), (b"\n", b"\r\n"), (b"2\n", b"\xff\n")):
        curves.write_bytes(content.replace(written, instead, 1))
        status, _, error = verify(capsys)
        assert status == 2 and f"{curves} is not what its runs say" in error and "make figure_9 SCALE=smoke" in error
