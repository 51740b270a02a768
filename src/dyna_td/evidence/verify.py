"""Checks of finished results: every file against its checksum and the plan, every curve against its runs."""

from collections.abc import Iterator
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.evidence import finished
from dyna_td.evidence.aggregate import tables
from dyna_td.pipeline import results
from dyna_td.pipeline.planned import Figure, Plan


def faults(plan: Plan, directory: Path = results.DIRECTORY) -> tuple[int, list[str]]:
    """The number of files that were checked below `directory`, and a sentence about each that is not as it should be.

    Runs and sweeps are compared with their checksums, and their JSON files, which have none, with the plan: settings,
    seeds, steps, and the choice that follows from a sweep. The tables of a figure are compared with what its runs say
    now. A file that is not there yet is no fault.
    """
    found = [*_runs(plan, directory)]
    for figure in plan.drawn.values():
        csv = results.curves_csv(plan.scale, figure.name, directory)
        found += [_figure(figure, csv, plan, directory)] if csv.exists() else []
    return sum(checked for checked, _ in found), list(dict.fromkeys(fault for _, fault in found if fault))


def _runs(plan: Plan, directory: Path) -> Iterator[tuple[int, str]]:
    """For each run and sweep, the number of files that were checked, and its fault or ""."""
    folder = directory / plan.scale / "runs"
    for csv in sorted(folder.rglob("*.csv")):
        if csv.name.endswith(".states.csv"):
            continue  # checked with its run
        name = csv.relative_to(folder).with_suffix("").as_posix()
        is_shown = name in plan.sampled_runs or results.states_csv(csv).exists()  # other states are not restored
        rebuild = results.pipeline_command(name, plan.scale)
        try:
            has_states = "states_sha256" in _details(name, csv, plan, directory) and is_shown
            if has_states:
                results.read_states(csv, rebuild)
            has_policy = results.require_policy(csv, rebuild)
        except UserError as error:
            yield 1, str(error)
        else:
            yield 1 + has_states + has_policy, ""


def _details(name: str, csv: Path, plan: Plan, directory: Path) -> dict:
    """The contents of the JSON file beside `csv`, compared with the plan if that has the run or the sweep."""
    run = plan.all_runs.get(name.removesuffix(results.SWEEP))
    if run and run.name == name:
        return finished.read(plan, run, directory).table.details
    if run and plan.is_swept(run):
        return finished.read_sweep(plan, run, directory).details
    return results.read(csv, results.pipeline_command(name, plan.scale))[1]


def _figure(figure: Figure, csv: Path, plan: Plan, directory: Path) -> tuple[int, str]:
    remake = f"delete it and run `make {figure.name} SCALE={plan.scale}`"
    try:
        expected = tables(figure, plan.scale, directory)
    except (UserError, *results.DAMAGE) as error:
        reason = str(error) if isinstance(error, UserError) else "the JSON file of one of them is damaged."
        return 1, f"{csv} cannot be compared with its runs: {reason}"
    for path, text in expected.items():
        try:
            if path.read_bytes() != text.encode():
                return 1, f"{path} is not what its runs say: it was changed, or they were trained anew; {remake}."
        except OSError as error:
            return 1, f"cannot read {path}: {error.strerror}; {remake}."
    return len(expected), ""
