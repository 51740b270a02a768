"""Whether finished results are as they were written: every file against its checksum, every curve against its runs."""

from collections.abc import Iterator
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.pipeline import finished, remedies, results
from dyna_td.pipeline.aggregate import curves_text, states_text
from dyna_td.pipeline.plans import Figure, Plan
from dyna_td.settings import Run


def findings(plan: Plan, directory: Path = results.DIRECTORY) -> tuple[int, list[str]]:
    """How many files of the scale's results were checked, and a sentence about each that is not as it should be.

    Runs and sweeps are compared with the checksums beside them, and their JSON files, which have none, with the plan:
    settings, seeds, steps, and the choice that follows from a sweep. What only they tell, such as a run's cost, is not
    checked. curves.csv and states.csv of a figure are compared with what its runs say now. What is not there yet is no
    fault.
    """
    checked, faults = 0, {}
    for number, fault in (*_runs(plan, directory), *_figures(plan, directory)):
        checked += number
        faults |= {fault: None} if fault else {}  # a sweep is named once, not by its run again
    return checked, list(faults)


def _runs(plan: Plan, directory: Path) -> Iterator[tuple[int, str]]:
    for csv in sorted((directory / plan.scale / "runs").rglob("*.csv")):
        if csv.name.endswith(".states.csv"):
            continue  # checked with the run that it belongs to
        name = csv.relative_to(directory / plan.scale / "runs").with_suffix("").as_posix()
        is_shown = name in plan.sampled_runs or results.states_csv(csv).exists()  # other states are not restored
        try:
            details = _details(name, csv, plan, directory)
            has_states = is_shown and "states_sha256" in details
            if has_states:
                results.read_states(csv, _rebuild(name, plan))
        except UserError as error:
            yield 1, str(error)
        else:
            yield 1 + has_states, ""


def _details(name: str, csv: Path, plan: Plan, directory: Path) -> dict:
    """What the JSON file beside `csv` tells, both as the plan has them, if `name` is one of its runs or sweeps."""
    run = plan.all_runs.get(name.removesuffix(".selection"))
    if run and run.name == name:
        return finished.read(plan, run, directory).table.details
    if run and run.sweep:
        return finished.read_sweep(plan, run, directory).details
    return results.read(csv, _rebuild(name, plan))[1]


def _rebuild(name: str, plan: Plan) -> str:
    return remedies.pipeline(results.run_csv(plan.scale, name), plan.scale)


def _figures(plan: Plan, directory: Path) -> Iterator[tuple[int, str]]:
    for figure in plan.drawn.values():
        csv = results.curves_csv(plan.scale, figure.name, directory)
        if csv.exists():
            yield _figure(figure, csv, plan, directory)


def _figure(figure: Figure, csv: Path, plan: Plan, directory: Path) -> tuple[int, str]:
    remake = f"delete it and run `make {figure.name} SCALE={plan.scale}`"

    def read(run: Run):
        return results.read_run(results.run_csv(plan.scale, run.name, directory), run, _rebuild(run.name, plan))

    def read_states(run: Run):
        return results.read_states(results.run_csv(plan.scale, run.name, directory), _rebuild(run.name, plan))

    try:
        expected = {csv: curves_text(figure, read)}
        if figure.shows_states:
            expected[results.states_csv(csv)] = states_text(figure, read_states)
    except UserError as error:
        return 1, f"{csv} cannot be compared with its runs: {error}"
    except remedies.DAMAGE:
        return 1, f"{csv} cannot be compared with its runs: the JSON file of one of them is damaged."
    for path, text in expected.items():
        try:
            if path.read_bytes() != text.encode():
                return 1, f"{path} is not what its runs say: it was changed, or they were trained anew; {remake}."
        except OSError as error:
            return 1, f"cannot read {path}: {error.strerror}; {remake}."
    return len(expected), ""
