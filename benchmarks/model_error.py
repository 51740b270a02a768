"""How wrong is a learned model at the states of search control, and at visited ones? MuJoCo's own answer is the truth.

On Hopper and Walker2d alone, whose observations are the simulator's state but for the place along the way. It takes
the checkpoint of a training that is under way or was stopped, and prints a row a seed; see `--help`.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import tensorflow as tf

import envs
from dyna_td.learning.streams import Purpose
from dyna_td.pipeline.plans import load_plan
from dyna_td.settings import Run
from dyna_td.training.checkpoint import Checkpoint
from dyna_td.training.trainer import make_program, stacks_of

DOMAINS = ("Hopper-v4", "Walker2d-v4")


def simulate(environment, state: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What MuJoCo makes of states [B, d] and actions [B, a]: next states [B, d] and rewards [B]."""
    simulator = environment.unwrapped
    positions = simulator.model.nq - 1  # the first, along the way, is not observed and changes nothing
    next_states, rewards = [], []
    for s, a in zip(state.astype(np.float64), action.astype(np.float64), strict=True):
        simulator.set_state(np.concatenate([[0.0], s[:positions]]), s[positions:])
        next_state, reward, *_ = simulator.step(a)
        next_states.append(next_state)
        rewards.append(reward)
    return np.array(next_states), np.array(rewards)


def load(run: Run, path: Path):
    """The program of a run as its checkpoint has it, whatever code it was trained by, and its seeds."""
    with np.load(path) as archive:
        identity = json.loads(archive["facts"].tobytes())["identity"]
    arrays, facts = Checkpoint(path, identity).load()
    seeds = stacks_of(run)[facts["stack"]]
    program = make_program(replace(run, seeds=seeds))
    program.resume(arrays)
    return program, seeds


def measure(program, seeds: tuple[int, ...], environment, count: int) -> pd.DataFrame:
    """Moves and errors of `count` states a seed from the queue and from the buffer, with the policy's own actions.

    Returns:
      a row a source and seed: the medians over states of ||s' - s|| and of the error of s', their ratio, and the shares
      of the variance of s' - s and of r that the model explains.
    """
    agent, step = program.agent, program.step.read_value()
    places = program.streams.integers(Purpose.OWN_DRAWS, (count,), agent.replay.size, step=step, inner=1)
    sources = {
        "queued": agent.queue.draw(program.streams, Purpose.OWN_DRAWS, count, step, 0),
        "replayed": agent.replay.gather(places).state,
    }
    rows = []
    for source, states in sources.items():
        actions = agent.learner.greedy(states)
        noise = tf.zeros([states.shape[0], count, 0])
        predicted, rewards, _ = (tensor.numpy() for tensor in agent.model.predict(states, actions, noise))
        for place, seed in enumerate(seeds):
            state = states[place].numpy()
            truth, reward = simulate(environment, state, actions[place].numpy())
            move = np.median(np.linalg.norm(truth - state, axis=1))
            error = np.median(np.linalg.norm(predicted[place] - truth, axis=1))
            rows.append(
                {
                    "source": source,
                    "seed": seed,
                    "move": move,
                    "error": error,
                    "error / move": error / move,
                    "explained of s'": explained(truth - state, predicted[place] - state),
                    "explained of r": explained(reward, rewards[place]),
                }
            )
    return pd.DataFrame(rows)


def explained(truth: np.ndarray, predicted: np.ndarray) -> float:
    """The coefficient of determination; below 0 the mean of the truth is the better prediction."""
    return 1.0 - np.sum(np.square(predicted - truth)) / np.sum(np.square(truth - truth.mean(axis=0)))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="such as Hopper-v4/dyna_td/n5-lr0.001")
    parser.add_argument("checkpoint", type=Path, help="below results/<scale>/runs, beside where the run's CSV will be")
    parser.add_argument("--scale", default="paper", help="default: paper")
    parser.add_argument("--states", type=int, default=400, help="of each source and seed (default: 400)")
    arguments = parser.parse_args()
    runs = load_plan(arguments.scale).runs
    usable = [name for name, run in runs.items() if run.environment in DOMAINS and run.agent.startswith("dyna")]
    if arguments.run not in usable:
        parser.error(f"run is {arguments.run}, expected one of {', '.join(usable)}.")
    if not arguments.checkpoint.exists():
        parser.error(f"{arguments.checkpoint} is not there: a training keeps one until it is finished.")
    run = runs[arguments.run]
    program, seeds = load(run, arguments.checkpoint)
    environment = envs.make(run.environment)
    print(f"{arguments.run} after {int(program.step):,} steps, {arguments.states} states a row")
    environment.reset(seed=0)
    print(measure(program, seeds, environment, arguments.states).round(2).to_string(index=False))


if __name__ == "__main__":
    main()
