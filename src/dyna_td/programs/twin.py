"""Reinforcement learning in one compiled program: an agent, the twin of its environment, and its evaluation.

The whole loop of Algorithm 1 runs in one XLA program for all seeds: act, step the environment, store, n updates. It
returns to Python only for evaluations, progress and checkpoints.
"""

import tensorflow as tf

from dyna_td.envs.grid_world import Dials
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.xla import compiled, with_tensor_loops, xla_function
from dyna_td.measures.sampling import SamplingDistributions
from dyna_td.programs.program import Program, make_agent
from dyna_td.runs.registry import SAMPLED_ENVIRONMENT, TWIN_ENVIRONMENTS, load, twin_of
from dyna_td.runs.run import Run


def make_twin(environment: str):
    """The twin (`envs.twins.Twin`) of an environment that `registry.has_twin`."""
    kind = load(twin_of(environment))
    return kind() if environment in TWIN_ENVIRONMENTS else kind(Dials.of(environment))


class TwinProgram(Program):
    """An agent in the twin of its environment. A step is one environment step of every seed.

    Args:
      run: its environment has a twin, its agent is one of `registry.AGENTS`.
    """

    def __init__(self, run: Run):
        super().__init__()
        self.settings = run.settings
        self.planning_updates = tf.Variable(run.settings.planning_updates, trainable=False)  # n
        self.streams = Streams(run.seeds)
        self.twin = make_twin(run.environment)
        self.agent = make_agent(run, self.streams, self.twin)
        self.optimizer = self.agent.learner.optimizer
        self.sampling = None
        if run.environment == SAMPLED_ENVIRONMENT:
            self.sampling = SamplingDistributions(self.agent, self.streams, self.twin)
        self.episode_step = tf.Variable(tf.zeros([self.streams.count], tf.int32))
        # The environments' states. Resets are keyed by a step: the first by -1, each later one by the step before it.
        self.environment_state = tf.Variable(compiled(lambda: self._reset(Purpose.RESET, -1)))

    @xla_function
    @with_tensor_loops
    def train(self, steps: tf.Tensor) -> None:
        """Takes `steps` (int32 scalar) environment steps."""
        last = self.step + tf.cast(steps, tf.int64)
        while self.step < last:
            self._environment_step(self.step.read_value())
            self.step.assign_add(1)

    def _environment_step(self, step: tf.Tensor) -> None:
        warming_up = step < self.settings.warm_up_steps
        state = self.environment_state.read_value()
        action = self.agent.learner.explore(state, step, warming_up)
        next_state, reward, terminated = self.twin.step(state, action, self._noise(Purpose.ENVIRONMENT, step))
        transition = Transition(state, action, reward, next_state, tf.cast(terminated, tf.float32))
        self.agent.observe(Transition(*(part[:, None] for part in transition)))
        self.agent.learn(step, tf.where(warming_up, 0, self.planning_updates))

        episode_step = self.episode_step + 1
        ended = terminated | (episode_step >= self.twin.time_limit)
        self.episode_step.assign(tf.where(ended, 0, episode_step))
        self.environment_state.assign(tf.where(ended[:, None], self._reset(Purpose.RESET, step), next_state))

    @xla_function
    @with_tensor_loops
    def evaluate(self) -> dict[str, tf.Tensor]:
        """Metrics of one episode of the evaluated policy in an environment of its own; each float32 [S]."""
        step = self.step.read_value()
        state = self._reset(Purpose.EVALUATION_RESET, step)
        running = tf.ones([self.streams.count], tf.bool)
        total = tf.zeros([self.streams.count])
        length = tf.zeros([self.streams.count])
        t = tf.constant(0)
        while (t < self.twin.time_limit) & tf.reduce_any(running):
            action = self.agent.learner.exploit(state[:, None], step, t)[:, 0]
            noise = self._noise(Purpose.EVALUATION_ENVIRONMENT, step, t)
            state, reward, terminated = self.twin.step(state, action, noise)
            total += tf.where(running, reward, 0.0)
            length += tf.where(running, 1.0, 0.0)
            running &= ~terminated
            t += 1
        return {"return": total, "episode_length": length, **self.agent.counters()}

    def measure(self) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        """See `Program.measure`: sampling distributions, on GridWorld."""
        return self._measure_sampling() if self.sampling else ({}, {})

    @xla_function
    def _measure_sampling(self):
        return self.sampling.measure(self.step.read_value())

    def _reset(self, purpose: int, step) -> tf.Tensor:
        return self.twin.reset(self.streams.uniform(purpose, (self.twin.reset_dim,), step=step))

    def _noise(self, purpose: int, step, inner=0) -> tf.Tensor:
        return self.streams.normal(purpose, (self.twin.noise_dim,), step=step, inner=inner)
