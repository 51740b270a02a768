"""A look inside search control: value, TD error, a chain, and from which states an agent learns.

A policy file has neither the replay buffer nor the queue. So the policy's seed is retrained with the same numbers, and
inspected at some steps. At the end its weights are compared with those of the file. Needs TensorFlow.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from dyna_td import envs
from dyna_td.errors import UserError
from dyna_td.learning.tensorflow_import import import_tensorflow
from dyna_td.own_agents import require_agent
from dyna_td.programs.stacks import stacks_of
from dyna_td.records.policy import Policy
from dyna_td.runs import registry
from dyna_td.runs.run import Run
from dyna_td.settings import checked

PLANES = tuple(name for name, known in envs.KNOWN.items() if known.plane)
CELLS = 60  # a side of the maps
MODEL_DRAWS = 16  # draws of the environment's noise that each y averages
SHOWN = 2_000  # states of B_er, of p* and of the queue


@dataclass(frozen=True)
class Look:
    """What one seed's search control sees after `step` environment steps; states are points [N, 2].

    Attributes:
      value: V(s) = max_a Q(s, a) in the middles of the cells, [CELLS, CELLS]; the first axis points upwards.
      error: |delta| of the greedy action there, under the true model; p* is proportional to it.
      buffer: states drawn uniformly from B_er, from which ER learns.
      ideal: states drawn from p*.
      queue: states drawn uniformly from B_sc, from which the agent's simulated transitions start.
      chain: the states of a chain that search control could make now, in order, restarts included.
      accepted: those of them that the queue takes.
    """

    step: int
    value: np.ndarray
    error: np.ndarray
    buffer: np.ndarray
    ideal: np.ndarray
    queue: np.ndarray
    chain: np.ndarray
    accepted: np.ndarray


def run_of(policy: Policy, seed: int) -> Run:
    """The training of one seed of a policy; a UserError if there is no search control in a plane to look into."""
    about = policy.about
    environment, agent = policy.environment, require_agent(about["agent"], policy.environment)
    if environment not in PLANES or not registry.AGENTS[agent].dyna:
        raise UserError(
            f"--explain shows Dyna agents on {', '.join(PLANES)}, but this policy is that of {agent} on {environment}: "
            "name another policy."
        )
    if not {"steps", "evaluate_every"} <= about.keys():
        raise UserError("--explain trains the policy again, but its file has no steps: name one that `train` wrote.")
    kind = registry.settings_type(environment, agent)
    known = {setting.name: setting for setting in fields(kind)}
    settings = kind(**{name: checked(known[name], value) for name, value in about["settings"].items() if name in known})
    steps = {name: about.get(name, 0) for name in ("steps", "evaluate_every", "of_steps")}
    return Run(environment, agent, settings, (seed,), **steps)


def train_again(policy: Policy, seed: int, moments: list[int]) -> Iterator[tuple[Look, bool]]:
    """Trains the seed of a policy, and yields a look at each of `moments` (increasing steps).

    Each look comes with a flag: whether the weights equal those of the policy, to the last bit.
    """
    run = run_of(policy, seed)
    import_tensorflow()
    from dyna_td.programs.program import make_program
    from dyna_td.training.trainer import weights_of

    (stack,) = stacks_of(run.seeds)
    program = make_program(replace(run, seeds=stack))
    for before, moment in itertools.pairwise([0, *moments]):
        program.train(np.int32(moment - before))
        mine = policy.seeds.index(seed)
        new = weights_of(program)
        same = all(np.array_equal(weights[0], policy.weights[name][mine]) for name, weights in new.items())
        yield look(program, moment), same


def moments_of(run: Run, count: int) -> list[int]:
    """`count` evenly spaced steps of a run, after its first search; the last one is its end."""
    first = min(run.settings.warm_up_steps + run.settings.search_every, run.steps)
    return sorted({round(step) for step in np.linspace(first, run.steps, count + 1)[1:]})


def look(program, step: int) -> Look:
    """A look at the first seed of a program; changes nothing in it."""
    agent, random = program.agent, np.random.default_rng(step)
    states, value, error = _maps(program, random)
    drawn: np.ndarray | list[int] = random.choice(len(states), SHOWN, p=error / error.sum()) if error.sum() > 0 else []
    width = (program.twin.high - program.twin.low) / CELLS
    ideal = states[drawn] + (random.random((len(drawn), 2)) - 0.5) * width
    ages = _ages(agent, random, int(agent.replay.size))
    buffer = agent.replay.gather(agent.replay.index_of(ages)).state.numpy()[0]
    held = int(agent.queue.size[0])
    queue = agent.queue.gather(_ages(agent, random, held)).numpy()[0] if held else buffer[:0]
    value, error = (part.reshape(CELLS, CELLS) for part in (value, error))
    return Look(step, value, error, buffer, ideal, queue, *_chain(agent, step))


def _ages(agent, random: np.random.Generator, held: int) -> np.ndarray:
    """Ages of stored transitions or states, drawn uniformly, the same for every seed: int32 [S, SHOWN]."""
    return np.tile(random.integers(held, size=SHOWN).astype(np.int32), (agent.streams.count, 1))


def _maps(program, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The middles of the cells [N, 2], and there V(s) and |delta| under the true model, each [N]."""
    import tensorflow as tf

    from dyna_td.learning.networks import as_columns
    from dyna_td.learning.replay import Transition

    twin, learner = program.twin, program.agent.learner
    side = (np.arange(CELLS) + 0.5) / CELLS
    x, y = np.meshgrid(side, side)
    middles = (twin.low + np.stack([x.ravel(), y.ravel()], axis=1) * (twin.high - twin.low)).astype(np.float32)
    state = np.tile(middles, (program.streams.count, 1, 1))  # [S, N, 2]
    value, action = learner.value(as_columns(tf.constant(state))), learner.greedy(state)
    targets = []
    for _ in range(MODEL_DRAWS if twin.noise_dim else 1):
        noise = random.standard_normal([*action.shape, twin.noise_dim]).astype(np.float32)
        next_state, reward, terminated = twin.step(tf.constant(state), action, noise)
        batch = Transition(state, action, reward, next_state, tf.cast(terminated, tf.float32))
        targets.append(learner.td_target(batch).numpy()[0])
    value = value.numpy()[0]
    return middles, value, np.abs(np.mean(targets, axis=0) - value)


def _chain(agent, step: int) -> tuple[np.ndarray, np.ndarray]:
    """A chain that search control could make now: its states [N, 2], NaN before each restart, and the accepted ones."""
    import tensorflow as tf

    from dyna_td.agents.dyna import Dyna

    control = agent.search_control
    visited: list[np.ndarray] = []
    if type(agent).criterion_gradient is Dyna.criterion_gradient:  # such agents have no chain
        return np.zeros([0, 2]), np.zeros([0, 2])
    rule = control.rule(control.space, control.visited, agent.settings)
    now = tf.constant(step, tf.int64)

    def gradient(state, i):
        fresh = rule.first(agent.start(now, i), control.normals(now, i)[1])
        if visited and np.array_equal(fresh[0], state[0]):
            visited.append(np.full(2, np.nan))
        visited.append(state[0].numpy())
        return agent.criterion_gradient(state, now, i)

    before = [variable.numpy() for variable in control.variables]
    length = tf.constant(agent.settings.chain_steps)
    states, count = control.fill(now, length, gradient, lambda i: agent.start(now, i))
    for variable, value in zip(control.variables, before, strict=True):
        variable.assign(value)
    return np.array(visited), states.numpy()[0, : int(count[0])]
