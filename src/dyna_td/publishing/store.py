"""Fills `reference/` with finished figures and runs, and brings the runs back, so that nobody trains them again.

It also draws the published pictures from the published tables, without TensorFlow.
"""

import contextlib
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.evidence import aggregate
from dyna_td.evidence.scores import Measured, read_finished
from dyna_td.plan import finished
from dyna_td.plan.planned import Figure, Plan
from dyna_td.publishing import extract
from dyna_td.records import provenance, published, results
from dyna_td.records.files import IMPORTS, ROOT, import_figure, write
from dyna_td.records.policy import load_policy
from dyna_td.runs.run import Run
from dyna_td.training.progress import counted


@dataclass(frozen=True)
class Restored:
    """The restored runs, and a sentence on each run that was not restored."""

    runs: list[Run] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # these do not fit the plan, or the files that are there
    aside: list[Path] = field(default_factory=list)  # damaged files, under their new names


def require_committed() -> None:
    """Raises UserError unless the sources are as committed, so that published results can be reproduced."""
    changed = provenance.uncommitted("src", "envs", "experiments", "figures")
    if changed is None:
        raise UserError(
            "this is no git repository, so nobody could tell from which sources the results come: clone it."
        )
    if changed:
        raise UserError(f"{changed[0]} is not committed: commit it first, then publish what it makes.")


def publish(plan: Plan, figure: Figure, source: Path, directory: Path) -> None:
    """Writes a figure's tables and runs to `directory`; a UserError, and no file, unless all runs are as planned."""
    left_out = extract.left_out(plan)
    extracts = [_extract(plan, plan.runs[run.name], source, left_out) for run in figure.runs]

    @cache
    def read(run: Run) -> Measured:
        found = read_finished(plan.scale, run, source)
        return replace(found, records=found.records[~found.records["metric"].isin(left_out[run.name])])

    tables = aggregate.tables(figure, read)
    if states := tables.pop("states.csv", ""):
        _compress(published.states_csv(figure.name, directory), states.encode())
    for name, text in tables.items():
        write(published.curves_csv(figure.name, directory).with_name(name), text)
    for contents in extracts:
        store(contents, directory)


def keep(plan: Plan, runs: Iterable[Run], source: Path, directory: Path) -> tuple[list[Run], list[str]]:
    """Stores an extract of each of `runs` that is finished below `source`.

    Returns:
      The stored runs, and a sentence on each finished run that is damaged or not as planned.
    """
    kept, refused, left_out = [], [], extract.left_out(plan)
    for run in runs:
        if all(path.exists() for path in _files(plan, run, source).values()):
            try:
                contents = _extract(plan, run, source, left_out)
            except UserError as error:
                refused.append(str(error))
                continue
            store(contents, directory)
            kept.append(run)
    return kept, refused


Files = dict[tuple[str, str], bytes]  # contents by job and kind, see `published.stored`


def _extract(plan: Plan, run: Run, source: Path, left_out: dict[str, set[str]]) -> Files:
    """What is published of a finished run below `source`; a UserError unless it is undamaged and as planned."""
    files, rebuild = _files(plan, run, source), results.pipeline_command(run.name, plan.scale)
    csv = files[run.name, "csv"]
    finished.read(plan, run, source)
    has_policy = results.require_policy(csv, rebuild) and run.name in plan.figure_runs
    if run.name in plan.sampled_runs:
        results.read_states(csv, rebuild)
    contents = {key: path.read_bytes() for key, path in files.items()}
    contents[run.name, "csv"] = extract.records(contents[run.name, "csv"], left_out[run.name])
    if run.sweep:
        sweep = run.name + results.SWEEP
        metric = json.loads(contents[sweep, "json"])["metric"]
        contents[sweep, "csv"] = extract.sweep(contents[sweep, "csv"], metric)
    if (states := (run.name, "states.csv")) in contents:
        contents[states] = extract.states(contents[states], plan, run.name)
    if has_policy:  # only for figures: studies have several times as many
        contents[run.name, "policy.npz"] = extract.policy(load_policy(results.beside(csv, "policy.npz"))).as_bytes()
    return contents


def store(contents: Files, directory: Path) -> None:
    """Writes the files of a run; the JSON files get their checksums."""
    for (job, kind), content in contents.items():
        at = published.stored(job, kind, directory)
        if kind.endswith("csv"):
            _compress(at, content)
            continue
        if kind == "json":
            bound = [each for each in ("csv", "states.csv", "policy.npz") if (job, each) in contents]
            sums = {results.checksum_key(each): results.checksum(contents[job, each]) for each in bound}
            content = results.sealed(json.loads(content) | sums, _as_json).encode()
        write(at, content)


def restore(plan: Plan, directory: Path, target: Path) -> Restored:
    """Copies the published runs of `plan` that `target` lacks, or has damaged; registers them with Snakemake."""
    published.require_published(directory)
    back = Restored()
    for run in counted(plan.runs.values(), "runs read"):
        if published.stored(run.name, "json", directory).exists():
            _restore(plan, run, directory, target, back)
    tell_snakemake(plan.scale, back.runs, target)
    return back


def _restore(plan: Plan, run: Run, directory: Path, target: Path, back: Restored) -> None:
    """Restores what one run lacks, or has damaged, and notes the result in `back`; damaged files are set aside."""
    broken = [job for job in results.jobs_of(run) if not _is_intact(plan, job, target)]
    if not broken:
        return
    files = {key: path for key, path in _files(plan, run, target).items() if key[0] in broken}
    policy = run.name, "policy.npz"
    if run.name in broken and published.stored(*policy, directory).exists():
        files = {policy: results.beside(files[run.name, "csv"], "policy.npz"), **files}
    try:
        contents = {path: published.read(*key, directory) for key, path in files.items()}
    except UserError as error:
        back.damaged.append(str(error))
        return
    due = {path: new for path, new in contents.items() if not path.exists() or path.read_bytes() != new}
    aside = {path: path.with_name(f"{path.name}.damaged") for path in due if path.exists()}
    for path, other in aside.items():
        os.replace(path, other)
    try:
        for path, new in due.items():
            write(path, new)
        finished.read(plan, run, target)
        back.runs.append(run)
        back.aside.extend(aside.values())
    except UserError as error:
        back.left_out.append(str(error))
        for path in due:
            path.unlink(missing_ok=True)
        for path, other in aside.items():
            os.replace(other, path)


def _is_intact(plan: Plan, job: str, folder: Path) -> bool:
    """Whether the files of a run or sweep are all there and as they were written, whatever they hold."""
    csv = results.run_csv(plan.scale, job, folder)
    try:
        results.read_bytes(csv, results.read_details(csv, "")["csv_sha256"], "")
        if job in plan.sampled_runs:
            results.read_states(csv, "")
    except UserError:
        return False
    return True


def _files(plan: Plan, run: Run, folder: Path) -> dict[tuple[str, str], Path]:
    """The files of a run below the results' `folder`, by job and kind; the last one, the CSV, marks a finished run."""
    keys = [(run.name, "states.csv")] if run.name in plan.sampled_runs else []
    keys += [(job, kind) for job in results.jobs_of(run) for kind in ("json", "csv")]
    return {(job, kind): results.beside(results.run_csv(plan.scale, job, folder), kind) for job, kind in keys}


def _compress(path: Path, content: bytes) -> None:
    """Writes `content` compressed, unless the file has it: other versions of the library may write other bytes."""
    with contextlib.suppress(OSError, *results.DAMAGE):  # not there, or damaged
        if lzma.decompress(path.read_bytes()) == content:
            return
    write(path, lzma.compress(content, preset=9))


def _as_json(value: object, indent: str = "") -> str:
    """`value` as JSON, with a line for each entry of a mapping, and lists on one line."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, allow_nan=False)
    entries = [f"{indent} {json.dumps(key)}: {_as_json(entry, f'{indent} ')}" for key, entry in value.items()]
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"


def tell_snakemake(scale: str, runs: Iterable[Run], directory: Path) -> None:
    """Makes Snakemake record that the current parameters made these runs and their sweeps."""
    jobs = [job for run in runs for job in results.jobs_of(run)]
    if not jobs:
        return
    home = os.path.dirname(os.path.abspath(directory))  # links are not followed: results/ may lead to another disk
    targets = [os.path.relpath(results.run_csv(scale, job, directory), home) for job in jobs]
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--touch", "--force"]
    command += [*targets, "--config", f"scale={scale}"]
    done = subprocess.run(command, cwd=home, env=os.environ | IMPORTS, capture_output=True, text=True)
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if "error" in line.lower()), "it failed")
        raise UserError(f"Snakemake did not take the runs over ({reason}): try again.")


def draw(plan: Plan, figure: str, directory: Path, output: Path) -> Path:
    """Draws a figure of the paper's `plan` from its tables in `directory`: a PNG, whose path it returns, and a PDF.

    Raises:
      UserError: a table is missing or damaged.
    """
    png, curves = Path(output) / figure / f"{figure}.png", published.curves_csv(figure, directory)
    import_figure("draw").draw(plan, figure, curves, png, published.remedy(curves.parent))
    return png
