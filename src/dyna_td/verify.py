"""Whether finished results are as they were written: every file against its checksum, every curve against its runs."""

from collections.abc import Iterator
from pathlib import Path

from dyna_td import results
from dyna_td.aggregate import curves_text, states_text
from dyna_td.errors import UserError
from dyna_td.experiments import Figure, Plan
from dyna_td.runs import Run


def findings(plan: Plan, directory: Path = results.DIRECTORY) -> tuple[int, list[str]]:
    """How many files of the scale's results were checked, and a sentence about each that is not as it should be.

    Runs and sweeps are compared with the checksums beside them; curves.csv and states.csv of a figure with what its
    runs say now. What is not there yet is no fault.
    """
    checked, faults = 0, []
    for number, fault in (*_runs(plan, directory), *_figures(plan, directory)):
        checked += number
        faults += [fault] if fault else []
    return checked, faults


def _runs(plan: Plan, directory: Path) -> Iterator[tuple[int, str]]:
    for csv in sorted((directory / plan.scale / "runs").rglob("*.csv")):
        if csv.name.endswith(".states.csv"):
            continue  # checked with the run that it belongs to
        name = csv.relative_to(directory / plan.scale / "runs").with_suffix("").as_posix()
        is_shown = name in plan.sampled_runs or results.states_csv(csv).exists()  # other states are not restored
        verb, name = ("select", name.removesuffix(".selection")) if name.endswith(".selection") else ("run", name)
        rebuild = f"python -m dyna_td {verb} {name} --scale {plan.scale}"
        try:
            _, details = results.read(csv, rebuild)
            has_states = is_shown and "states_sha256" in details
            if has_states:
                results.read_states(csv, rebuild)
        except UserError as error:
            yield 1, str(error)
        else:
            yield 1 + has_states, ""


def _figures(plan: Plan, directory: Path) -> Iterator[tuple[int, str]]:
    for figure in plan.drawn.values():
        csv = results.curves_csv(plan.scale, figure.name, directory)
        if csv.exists():
            yield _figure(figure, csv, plan, directory)


def _figure(figure: Figure, csv: Path, plan: Plan, directory: Path) -> tuple[int, str]:
    rebuild = f"delete it and run `make {figure.name} SCALE={plan.scale}`"

    def read(run: Run):
        return results.read_run(results.run_csv(plan.scale, run.name, directory), run, rebuild)

    def read_states(run: Run):
        return results.read_states(results.run_csv(plan.scale, run.name, directory), rebuild)

    try:
        expected = {csv: curves_text(figure, read)}
        if figure.shows_states:
            expected[results.states_csv(csv)] = states_text(figure, read_states)
        for path, text in expected.items():
            if path.read_bytes() != text.encode():
                return 1, f"{path} is not what its runs say: it was changed, or they were trained anew; {rebuild}."
    except UserError as error:
        return 1, f"{csv} cannot be compared with its runs: {error}"
    except OSError as error:
        return 1, f"cannot read {error.filename}: {error.strerror}; {rebuild}."
    return len(expected), ""
