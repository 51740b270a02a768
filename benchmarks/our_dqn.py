"""The project's ER on GridWorld, 20 stacked seeds: `ER.learn`, in one compiled program for a chunk of steps."""

import numpy as np
import tensorflow as tf
import work

from dyna_td.learning.replay import Replay, Transition
from dyna_td.learning.streams import Streams
from dyna_td.programs.program import make_agent
from dyna_td.programs.twin import make_twin
from dyna_td.runs.registry import settings_type
from dyna_td.runs.run import Run


class OurDQN:
    """See `work.Learner`."""

    def __init__(self):
        settings = settings_type("GridWorld", "er")(planning_updates=work.PLANNING_UPDATES)
        run = Run("GridWorld", "er", settings, tuple(range(work.SEEDS)), steps=work.BUFFER)
        self.agent = make_agent(run, Streams(run.seeds), make_twin(run.environment))
        self.learner = self.agent.learner
        self.step = tf.Variable(0, dtype=tf.int64)
        fill(self.agent.replay)
        kernels = self.learner.q.kernels
        self.facts = {
            "version": f"TensorFlow {tf.__version__}",
            "seeds": kernels[0].shape[0],
            "sizes": [kernels[0].shape[2], *(kernel.shape[1] for kernel in kernels)],
            "batch": settings.batch_size,
            "filled": int(self.agent.replay.size),
            "target_period": settings.target_period,
        }

    def train(self) -> None:
        self.learn()
        self.step.numpy()

    @tf.function(jit_compile=True)
    def learn(self) -> None:
        """The n updates after each of a chunk of environment steps."""
        last = self.step + work.STEPS
        while self.step < last:
            self.agent.learn(self.step.read_value(), tf.constant(work.PLANNING_UPDATES))
            self.step.assign_add(1)

    def done(self) -> int:
        return int(self.learner.optimizer.updates)

    def improve(self, asked: work.Problem) -> work.Layers:
        self.assign(self.learner.q, asked.weights)
        self.assign(self.learner.q_target, asked.target_weights)
        improve = tf.function(self.learner.update, jit_compile=True)
        for batch in asked.batches:
            improve(Transition(**{name: tf.constant(part) for name, part in batch._asdict().items()}), tf.ones([]))
        pairs = zip(self.learner.q.kernels, self.learner.q.biases, strict=True)
        return [(np.swapaxes(kernel, 1, 2), bias.numpy()[..., 0]) for kernel, bias in pairs]

    def assign(self, network, weights: work.Layers) -> None:
        """Gives a stacked network, whose kernels are transposed, the weights of all seeds."""
        for variables, (kernel, bias) in zip(zip(network.kernels, network.biases, strict=True), weights, strict=True):
            variables[0].assign(np.swapaxes(kernel, 1, 2))
            variables[1].assign(bias[..., None])


def fill(replay: Replay) -> None:
    """Fills `replay` with transitions, different ones for each seed."""
    batch = Transition(*(tf.constant(part) for part in work.transitions(work.SEEDS, work.BUFFER)))

    @tf.function(jit_compile=True)
    def add() -> None:
        for k in tf.range(work.BUFFER):
            replay.add(Transition(*(tf.gather(part, [k], axis=1) for part in batch)))

    add()


make = OurDQN  # `worker.py` calls it
