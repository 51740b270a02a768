"""Training from Python; `dyna_td` offers `train` and `Result`."""

import contextlib
import reprlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields

import pandas as pd

from dyna_td import own_agents
from dyna_td.errors import UserError, require_choice
from dyna_td.learning.tensorflow_import import import_tensorflow
from dyna_td.plan import plans
from dyna_td.records import results
from dyna_td.records.policy import Policy
from dyna_td.records.provenance import machine
from dyna_td.runs.registry import all_settings, settings_type
from dyna_td.runs.run import Run
from dyna_td.settings import MAX_SEED, MAX_SEEDS, MAX_STEPS, Settings, is_whole
from dyna_td.training.progress import progress as shown


@dataclass(frozen=True)
class Result:
    """The results of a training.

    Attributes:
      records: columns seed, step, metric, value; every evaluation of every seed, as in the CSV of `train`.
      policy: the trained policies of all seeds; None for the supervised task.
      settings: all numbers of the agent, defaults included.
      cost: seconds of training, compilation and evaluation, memory, diverged seeds, remarks on the environment.
    """

    records: pd.DataFrame
    policy: Policy | None
    settings: Settings
    cost: dict


def train(
    env: str,
    agent: str | type,
    seeds: int | Iterable[int] = (0,),
    steps: int = 50_000,
    evaluate_every: int = 500,
    progress: bool = False,
    **settings,
) -> Result:
    """Trains an agent with several seeds side by side, as `python -m dyna_td train` does, with the same numbers.

    Args:
      env: an environment, `python -m dyna_td list` names them; or any Gymnasium id, or `module:id`.
      agent: its name, `module:Class`, or a class that extends one of `dyna_td.agents`.
      seeds: one seed, or several.
      steps: environment steps, or mini-batch updates of the supervised task.
      evaluate_every: steps between two evaluations.
      progress: whether progress is shown on standard error.
      **settings: the agent's numbers by name, as `train --help` explains them; others keep their defaults.

    Raises:
      UserError: for an unknown name or a number out of bounds, in one sentence.
    """
    agent = own_agents.require_agent(own_agents.adopt(agent) if isinstance(agent, type) else agent, env)
    seeds = tuple(seeds) if isinstance(seeds, Iterable) else (seeds,)
    is_good = all(is_whole(seed) and 0 <= seed <= MAX_SEED for seed in seeds)
    if not is_good or not 0 < len(set(seeds)) == len(seeds) <= MAX_SEEDS:
        raise UserError(
            f"seeds are {reprlib.repr(seeds)}, "
            f"expected 1 to {MAX_SEEDS:,} whole numbers from 0 to {MAX_SEED}, each once."
        )
    for name, number in (("steps", steps), ("evaluate_every", evaluate_every)):
        if not (is_whole(number) and 0 < number <= MAX_STEPS):
            raise UserError(f"{name} is {number!r}, expected a whole number from 1 to {MAX_STEPS}.")
    known = ["seeds", "steps", "evaluate_every", "progress", *(each.name for each in fields(settings_type(env, agent)))]
    for name in settings:
        if name in all_settings() and name not in known:
            raise UserError(f"{name} does not apply to {agent} on {env}: leave it out.")
        require_choice(name, known, f"argument for {agent} on {env}")
    made = plans.make_settings(env, agent, settings)
    run = Run(env, agent, made, tuple(sorted(map(int, seeds))), int(steps), int(evaluate_every))
    import_tensorflow()
    from dyna_td.training.trainer import execute

    with shown(run.name) if progress else contextlib.nullcontext() as show:
        outcome = execute(run, show, watch=show.watch) if show else execute(run)
    for warning in outcome.warnings():
        print(warning, file=sys.stderr)
    policy = Policy({**results.describe(run), **machine()}, outcome.weights) if outcome.weights else None
    return Result(outcome.records, policy, run.settings, outcome.cost)
