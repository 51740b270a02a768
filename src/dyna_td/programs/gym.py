"""Reinforcement learning in any Gymnasium environment, with any agent; the dynamics need not be known.

The environments run in Python, one for each seed. After their step, one call of a compiled program serves all seeds:
it stores the transitions, makes n updates, and chooses the next actions.
"""

import contextlib
import json

import numpy as np
import tensorflow as tf

from dyna_td.envs import KNOWN, MAX_EPISODE_STEPS
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.xla import xla_function
from dyna_td.programs.environments import EnvironmentStack, impurity
from dyna_td.programs.program import CannotResume, Program, make_agent
from dyna_td.runs.registry import ROUNDABOUT
from dyna_td.runs.run import Run


class GymProgram(Program):
    """An agent in its environment. A step is one environment step of every seed.

    Args:
      run: its agent is one of `registry.AGENTS`; its environment is any that `envs.make` makes. The companion of a
        single seed repeats it: it shares the environments and their data.
    """

    def __init__(self, run: Run):
        super().__init__()
        self.settings = run.settings
        self.planning_updates = tf.Variable(run.settings.planning_updates, trainable=False)  # n
        self.streams = Streams(run.seeds)
        seeds = tuple(dict.fromkeys(run.seeds))  # U distinct seeds
        self._rows = np.array([seeds.index(seed) for seed in run.seeds])  # from [U, ...] to [S, ...]
        self._firsts = np.array([run.seeds.index(seed) for seed in seeds])  # from [S, ...] to [U, ...]
        episodes = getattr(run.settings, "evaluation_episodes", 1)
        self._impurity = impurity(run.environment, seeds[0])
        with contextlib.ExitStack() as opened:
            closing = contextlib.closing
            self.environments = opened.enter_context(closing(EnvironmentStack(run.environment, seeds)))
            self.evaluated = opened.enter_context(closing(EnvironmentStack(run.environment, seeds, episodes)))
            self._set_up(run, episodes)
            self._opened = opened.pop_all()

    def _set_up(self, run: Run, episodes: int) -> None:
        self.reports_driving = run.environment == ROUNDABOUT
        self.space = self.environments.space
        self.agent = make_agent(run, self.streams, self.space)
        self.optimizer = self.agent.learner.optimizer
        width = 3 * self.space.state_dim + (self.space.action_dim or 1) + 2
        experience = tf.TensorSpec([self.streams.count, width])
        # Concrete functions do not check the types of their arguments, which saves 0.2 ms a step.
        count = tf.TensorSpec([], tf.int64)
        self._advance_now = self._advance.get_concrete_function(experience, count)
        states = tf.TensorSpec([self.streams.count, episodes, self.space.state_dim])
        self._exploit_now = self._exploit.get_concrete_function(states, count, tf.TensorSpec([], tf.int32))
        self._begin()

    def _begin(self) -> None:
        """Starts the first episodes. Their random numbers have the step -1, those of a reset after step t have t."""
        self._observed = self.environments.reset(Purpose.RESET, -1)[:, 0]  # [U, d]
        self._action = None  # every seed's; chosen right after the last step's update

    def compile(self, measures: bool) -> None:
        """See `Program.compile`."""
        before = self.values()
        self._advance_now(tf.zeros(self._advance_now.inputs[0].shape), self.step.read_value())
        self._explore(tf.constant(self._observed[self._rows]), self.step.read_value())
        self.restore(before)
        self._exploit_now(tf.zeros(self._exploit_now.inputs[0].shape), self.step.read_value(), tf.constant(0))
        self._counters()

    def restore(self, values: list[np.ndarray]) -> None:
        """See `Program.restore`; the environments start new episodes."""
        super().restore(values)
        self._begin()

    def snapshot(self) -> dict[str, np.ndarray]:
        """See `Program.snapshot`; the current episodes are added as resets and actions."""
        chosen = {} if self._action is None else {"action": self._action}
        left_space = np.array(json.dumps([stack.left_space for stack in self._both()]))
        return {**super().snapshot(), **chosen, **self.environments.snapshot(), "left_space": left_space}

    def resume(self, snapshot: dict[str, np.ndarray]) -> None:
        """See `Program.resume`."""
        if self._impurity:
            raise CannotResume(self._impurity)
        super().resume(snapshot)
        self._action = snapshot.get("action")
        for stack, left_space in zip(self._both(), json.loads(str(snapshot["left_space"])), strict=True):
            stack.left_space = {int(seed): sentence for seed, sentence in left_space.items()}
        self._observed = self.environments.resume(snapshot)[:, 0]

    def close(self) -> None:
        """Closes the environments."""
        self._opened.close()

    def train(self, steps: tf.Tensor) -> None:
        """Takes `steps` (int32 scalar) environment steps."""
        begun = int(self.step)
        for step in range(begun, begun + int(steps)):
            if self._action is None:
                self._action = self._explore(self._observed[self._rows], tf.constant(step, tf.int64)).numpy()
            experience = self.step_environments(step)
            self._action = self._advance_now(tf.constant(experience), tf.constant(step, tf.int64)).numpy()

    def step_environments(self, step: int) -> np.ndarray:
        """Takes the chosen actions; returns a row per seed: s, s', a, r, terminated, the state to act in next."""
        rows, actions = [], self._action[self._firsts]
        self.environments.drive_ahead({(s, 0): action for s, action in enumerate(actions)})
        for s, action in enumerate(actions):
            observation, reward, is_terminal, is_over, _ = self.environments.step(s, 0, action, step)
            # The buffer gets the last observation of an ended episode; the agent acts in the first of the next.
            following = self.environments.reset_one(s, 0, Purpose.RESET, step) if is_over else observation
            rows.append(
                np.concatenate(
                    [self._observed[s], observation, np.atleast_1d(action), [reward, is_terminal], following],
                    dtype=np.float32,
                    casting="unsafe",
                )
            )
            self._observed[s] = following
        return np.stack(rows)[self._rows]

    @xla_function
    def _advance(self, experience: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
        """Stores a step's experience, learns, and chooses the next actions: [S] or [S, a]."""
        d = self.space.state_dim
        action = experience[:, None, 2 * d : -2 - d]  # [S, 1, a]
        transition = Transition(
            state=experience[:, None, :d],
            action=action if self.space.action_dim else tf.cast(action[..., 0], tf.int32),
            reward=experience[:, None, -2 - d],
            next_state=experience[:, None, d : 2 * d],
            terminated=experience[:, None, -1 - d],
        )
        self.agent.observe(transition)
        warming_up = step < self.settings.warm_up_steps
        self.agent.learn(step, tf.where(warming_up, 0, self.planning_updates))
        self.step.assign(step + 1)
        return self._choose(experience[:, -d:], step + 1)

    @xla_function
    def _explore(self, state: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
        return self._choose(state, step)

    def _choose(self, state: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
        return self.agent.learner.explore(state, step, step < self.settings.warm_up_steps)

    def evaluate(self) -> dict[str, tf.Tensor]:
        """Metrics of the evaluated policy in environments of its own, each [S], means over episodes."""
        step = int(self.step)
        now = self.step.read_value()
        state = self.evaluated.reset(Purpose.EVALUATION_RESET, step)  # [U, E, d]
        running = np.ones(state.shape[:2], bool)
        total, length, speed = np.zeros(running.shape), np.zeros(running.shape), np.zeros(running.shape)
        crashed = np.zeros(running.shape, bool)
        t = 0
        while running.any() and t < MAX_EPISODE_STEPS:
            action = self._exploit_now(tf.constant(state[self._rows]), now, tf.constant(t)).numpy()[self._firsts]
            self.evaluated.drive_ahead({(s, e): action[s, e] for s, e in zip(*np.nonzero(running), strict=True)})
            for s, e in zip(*np.nonzero(running), strict=True):
                state[s, e], reward, _, is_over, info = self.evaluated.step(s, e, action[s, e], step)
                total[s, e] += reward
                length[s, e] += 1
                running[s, e] = not is_over
                if self.reports_driving:
                    speed[s, e] += info["speed"]
                    crashed[s, e] |= info["crashed"]
            t += 1
        metrics = {"return": total, "episode_length": length}
        if self.reports_driving:
            metrics |= {"speed": speed / length, "crashed": crashed}
        means = {name: _recorded(value.mean(axis=1)[self._rows]) for name, value in metrics.items()}
        return {**means, **self._counters()}

    def remarks(self) -> dict[int, str]:
        """See `Program.remarks`: an impure environment, a wrong rule of termination, states outside the space."""
        evaluated, trained = (stack.left_space for stack in self._both())
        seeds = self.environments.seeds
        parts = dict.fromkeys(seeds, self._impurity), self._contradictions(), evaluated | trained
        joined = {seed: "; ".join(filter(None, (part.get(seed) for part in parts))) for seed in seeds}
        return {seed: words for seed, words in joined.items() if words}

    def _contradictions(self) -> dict[int, str]:
        """By seed, a sentence if a user's rule of termination is not that of the stored transitions."""
        if self.space.name in KNOWN or not (self.space.knows_termination and hasattr(self.agent, "model")):
            return {}
        stored = self.agent.replay.block(0, int(self.agent.replay.size))
        rule = self.space.is_terminal(stored.next_state).numpy()
        differs = rule != (stored.terminated.numpy() > 0)
        sentences = {}
        for seed, row in zip(self.environments.seeds, self._firsts, strict=True):
            if differs[row].any():
                first = np.flatnonzero(differs[row])[0]
                state = np.array2string(stored.next_state[row, first].numpy(), precision=4, threshold=6)
                sentences[seed] = (
                    f"environment {self.space.name}, seed {seed}: is_terminal_state is {rule[row, first]} in the state "
                    f"{state}, step says {not rule[row, first]}; they differ in {differs[row].sum():,} of "
                    f"{rule.shape[1]:,} transitions"
                )
        return sentences

    def _both(self) -> tuple[EnvironmentStack, EnvironmentStack]:
        return self.evaluated, self.environments

    @xla_function
    def _exploit(self, state: tf.Tensor, step: tf.Tensor, t: tf.Tensor) -> tf.Tensor:
        return self.agent.learner.exploit(state, step, t)

    @xla_function
    def _counters(self) -> dict[str, tf.Tensor]:
        return self.agent.counters()


def _recorded(means: np.ndarray) -> tf.Tensor:
    """Means [S] in float32; in float64 if any is beyond 2^24, where float32 lacks whole numbers."""
    largest = 2.0**24
    near, is_far = means.clip(-largest, largest).astype(np.float32), np.abs(means) > largest
    return tf.constant(np.where(is_far, means, near) if is_far.any() else near)
