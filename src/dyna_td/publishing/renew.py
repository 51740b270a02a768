"""Trains the later seeds of published runs again with portable arithmetic, and stores them in `reference/`.

    python -m dyna_td.publishing.renew [FIGURE ...]
    python -m dyna_td.publishing.renew --sweeps RUN [RUN ...]

The first seeds of all published runs are portable, and stay: same seed, same bytes, whichever seeds share the job. A
run keeps its learning rate, unless its sweep was trained again and chose another. Its JSON file says under `joined`
which CPU and commit made which seeds. Several processes share the work. A killed one continues from its checkpoint.
This file goes when all seeds are portable.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np

from dyna_td.errors import UserError, exit_status
from dyna_td.learning import arithmetic
from dyna_td.pipeline import snakefile
from dyna_td.plan import plans
from dyna_td.plan.planned import Plan
from dyna_td.publishing import extract, store
from dyna_td.records import published, results
from dyna_td.records.policy import Policy, load_policy
from dyna_td.runs.run import Run
from dyna_td.training import job

_SCALE = "renewed"  # the folder of trained seeds below results/
_ADDED = ("train_seconds", "compile_seconds", "evaluate_seconds", "core_seconds", "env_steps", "seed_updates")


def portable_seeds(details: dict | None) -> int:
    """How many of the first seeds of a published run are portable."""
    if details is None or details.get("arithmetic") != arithmetic.PORTABLE:
        return 0
    return int(details.get("portable_seeds", len(details["seeds"])))


def train_again(plan: Plan, run: Run) -> None:
    """Makes all seeds of a published `run` portable: trains the missing ones, or copies a twin."""
    if arithmetic.name() != arithmetic.PORTABLE:
        raise UserError("NumPy has the CPU's own arithmetic here: name a figure instead of a run.")
    there, csv = published.read_details(run.name), results.run_csv(_SCALE, run.name)
    assert there  # see `main`
    fixed, first, chosen = run.with_learning_rate(there["settings"]["learning_rate"]), portable_seeds(there), {}
    if choice := _other_choice(run):
        fixed, first, chosen = run.with_learning_rate(choice["learning_rate"]), 0, _sweep_files(run, choice)
        there = there | {"learning_rate_selection": {key: choice[key] for key in there["learning_rate_selection"]}}
    if twin := _twin(plan, run, fixed):
        _copy(plan, run, there, twin, chosen)
        return
    trained = replace(fixed, seeds=run.seeds[first:])  # another name, if the rate was swept
    facts = {"run": run.name, "learning_rate_selection": there.get("learning_rate_selection")}
    job.train(trained, csv, facts)
    _, details = results.read(csv, "the same command")
    tables = {"csv": extract.records(csv.read_bytes(), extract.left_out(plan)[run.name])}
    if run.name in plan.sampled_runs:
        tables["states.csv"] = extract.states(results.beside(csv, "states.csv").read_bytes(), plan, run.name)
    contents = {(run.name, kind): _with_first_seeds(table, run, kind, first) for kind, table in tables.items()}
    policy = results.beside(csv, "policy.npz")
    if policy.exists() and run.name in plan.figure_runs:
        contents[run.name, "policy.npz"] = _policy_with(load_policy(policy), run, first).as_bytes()
    _store(run, chosen | contents, _extended(details, there, first), there)


def sweep_again(plan: Plan, run: Run) -> None:
    """Makes the sweep of a published `run` portable. If it chooses another rate, `train_again` stores both."""
    if arithmetic.name() != arithmetic.PORTABLE:
        raise UserError("NumPy has the CPU's own arithmetic here: name sweeps with --sweeps.")
    sweep, candidates = run.name + results.SWEEP, plan.selection_runs(run)
    there, csv = published.read_details(run.name), results.run_csv(_SCALE, sweep)
    assert there  # see `main`
    if not csv.exists():
        job.sweep(replace(run, seeds=candidates[0].seeds), candidates, csv)
    _, details = results.read(csv, "the same command")
    before = there["settings"]["learning_rate"]
    print(f"{run.name}: {details['learning_rate']}, before {before}; scores {details['scores']}", flush=True)
    if not _other_choice(run):
        chosen = {key: details[key] for key in there["learning_rate_selection"]}
        own = {(run.name, "json"): json.dumps(there | {"learning_rate_selection": chosen}).encode()}
        store.store(_sweep_files(run, details) | own, published.HERE)


def _other_choice(run: Run) -> dict | None:
    """The JSON file's contents of a new sweep that chose another rate than the published run has; else None."""
    there, csv = published.read_details(run.name), results.run_csv(_SCALE, run.name + results.SWEEP)
    if not there or not run.sweep or not csv.exists():
        return None
    _, details = results.read(csv, "the same command")
    return None if details["learning_rate"] == there["settings"]["learning_rate"] else details


def _sweep_files(run: Run, details: dict) -> store.Files:
    """What is published of a new sweep."""
    sweep, csv = run.name + results.SWEEP, results.run_csv(_SCALE, run.name + results.SWEEP)
    table = extract.sweep(csv.read_bytes(), details["metric"])
    return {(sweep, "csv"): table, (sweep, "json"): json.dumps(details).encode()}


def _policy_with(new: Policy, run: Run, first: int) -> Policy:
    """The policies of the first seeds: those that are published and portable, then new ones."""
    old = load_policy(published.stored(run.name, "policy.npz"))
    kept = min(first, len(old.seeds))
    if old.seeds[:kept] != run.seeds[:kept] or kept < min(first, extract.POLICY_SEEDS):
        raise UserError(f"the policy of {run.name} has other seeds than its first {first}.")
    weights = {name: np.concatenate([old.weights[name][:kept], new.weights[name]]) for name in new.weights}
    return extract.policy(Policy({**new.about, "seeds": [*run.seeds[:kept], *new.seeds]}, weights))


def _with_first_seeds(content: bytes, run: Run, kind: str, first: int) -> bytes:
    """A table's rows after those of the first seeds of the published table; the first column is the seed."""
    header, *new = content.splitlines(keepends=True)
    seeds = {str(seed).encode() for seed in run.seeds[:first]}
    old = published.read(run.name, kind).splitlines(keepends=True)
    if old[0] != header:
        raise UserError(f"the published {kind} of {run.name} has other columns than a new one.")
    return b"".join([header, *(row for row in old[1:] if row.partition(b",")[0] in seeds), *new])


def _extended(new: dict, there: dict, first: int) -> dict:
    """The JSON file's contents of the first published seeds and of new seeds after them."""
    last = first + len(new["seeds"]) - 1
    details = {**new, "seeds": [*there["seeds"][:first], *new["seeds"]], "trained_seeds": last + 1}
    for key in ("diverged_seeds", "remarks"):
        earlier = {seed: fact for seed, fact in there[key].items() if int(seed) in there["seeds"][:first]}
        details[key] = earlier | new[key]
    portable = [line for line in there.get("joined", ()) if first and arithmetic.PORTABLE in line.split(", ")]
    origin = (new[key] for key in ("date", "cpu", "arithmetic", "git_commit"))
    return details | {"joined": [*portable, f"seeds {first} to {last}: {', '.join(origin)}"]}


def _twin(plan: Plan, run: Run, fixed: Run) -> dict | None:
    """The details of the training of `fixed` under another name, if it has all seeds, and they are portable.

    A sweep that chooses a rate and a run with this rate are the same training.
    """
    left_out = extract.left_out(plan)
    for name in plan.runs:
        details = published.read_details(name)
        if not details or name == run.name or portable_seeds(details) < len(run.seeds):
            continue
        is_same = {*results.differing(fixed, details)} <= {"seeds", "run"}
        has_all = left_out[name] <= left_out[run.name] and run.name not in plan.sampled_runs
        if is_same and has_all and (run.name not in plan.figure_runs or _policy_of(run, details)):
            return details
    return None


def _policy_of(run: Run, twin: dict) -> str | None:
    """The name of the run, of these two, that has a portable policy; None if neither has."""
    own = published.read_details(run.name) or {}
    # A new sweep may have chosen another rate than that of the published policy.
    found = [each for each in (twin, own) if "policy_sha256" in each and each["settings"] == twin["settings"]]
    return next((each["run"] for each in found if portable_seeds(each) >= extract.POLICY_SEEDS), None)


def _copy(plan: Plan, run: Run, there: dict, twin: dict, chosen: store.Files) -> None:
    """Stores the seeds of `twin` as those of `run`, and the files of a sweep that chose its rate."""
    seeds, name = run.seeds, twin["run"]
    details = {key: value for key, value in twin.items() if key not in ("portable_seeds", "clock_of")}
    if len(seeds) < len(twin["seeds"]):
        details.pop("joined", None)
    for key in ("diverged_seeds", "remarks"):
        details[key] = {seed: fact for seed, fact in twin[key].items() if int(seed) in seeds}
    details |= {"run": run.name, "seeds": list(seeds), "trained_seeds": len(seeds), "copied_from": name}
    details["learning_rate_selection"] = there.get("learning_rate_selection")
    header, *rows = published.read(name, "csv").splitlines(keepends=True)
    csv = header + b"".join(row for row in rows if int(row.partition(b",")[0]) in seeds)
    contents = chosen | {(run.name, "csv"): extract.records(csv, extract.left_out(plan)[run.name])}
    if run.name in plan.figure_runs:
        contents[run.name, "policy.npz"] = published.read(str(_policy_of(run, twin)), "policy.npz")
    _store(run, contents, details, there)


def _store(run: Run, contents: store.Files, details: dict, there: dict) -> None:
    """Stores a run's tables, policy and `details`."""
    # The clock stays that of the older training, which had its core alone: claims 26 and 27 judge seconds.
    details |= {key: there[key] for key in (*_ADDED, "train_seconds_at")}
    details["clock_of"] = there.get("clock_of", there["git_commit"])
    details = {key: value for key, value in details.items() if not key.endswith("_sha256")}
    contents[run.name, "json"] = json.dumps(details).encode()
    store.store(contents, published.HERE)


def _is_due(run: Run) -> bool:
    """Whether later seeds are not portable, or a new sweep chose another rate."""
    seeds = portable_seeds(published.read_details(run.name))
    return 0 < seeds < len(run.seeds) or bool(_other_choice(run))


def main() -> int:
    """Trains what is due, one process a run, which another process may take at the same time."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("figures", nargs="*")
    parser.add_argument("--sweeps", nargs="+", default=[], metavar="RUN", help="the sweeps of these runs")
    parser.add_argument("--run", help="one run, in this process")
    parser.add_argument("--sweep", help="one sweep, in this process")
    options = parser.parse_args()
    plan = plans.load_plan(published.SCALE)
    if options.run:
        run = plan.run(options.run)
        return exit_status(lambda: train_again(plan, run))
    if options.sweep:
        swept = plan.run(options.sweep)
        return exit_status(lambda: sweep_again(plan, swept))
    due = [("--sweep", run) for run in options.sweeps if not portable_seeds(published.read_details(f"{run}.selection"))]
    if not options.sweeps:
        figures = [plan.figure(name) for name in options.figures] or list(plan.drawn.values())
        runs = dict.fromkeys(run for figure in figures for run in figure.runs)
        due = [("--run", run.name) for run in runs if _is_due(run)]
    failed = 0
    for words in due:
        command = [sys.executable, "-m", "dyna_td.publishing.renew", *words]
        failed += subprocess.run(command, env=os.environ | snakefile.environment()).returncode != 0
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
