"""The plain Keras DQN that `make benchmark` compares with too."""

import keras
import tensorflow as tf
import work

from dyna_td.keras_dqn import BATCH, TARGET_PERIOD, KerasDQN


class KerasPeer:
    """See `work.Learner`; one seed."""

    def __init__(self):
        self.dqn = KerasDQN()
        kernels = self.dqn.q.get_weights()[::2]
        self.facts = {
            "version": f"Keras {keras.__version__}, TensorFlow {tf.__version__}",
            "seeds": 1,
            "sizes": [kernels[0].shape[0], *(kernel.shape[1] for kernel in kernels)],
            "batch": BATCH,
            "filled": len(self.dqn.buffer["state"]),
            "target_period": TARGET_PERIOD,
        }

    def train(self) -> None:
        self.dqn.learn(work.STEPS * work.PLANNING_UPDATES)

    def done(self) -> int:
        return int(self.dqn.optimizer.iterations)

    def improve(self, asked: work.Problem) -> work.Layers:
        self.dqn.q.set_weights([array[0] for layer in asked.weights for array in layer])
        self.dqn.q_target.set_weights([array[0] for layer in asked.target_weights for array in layer])
        for batch in asked.batches:
            self.dqn.update(*(tf.constant(part[0]) for part in batch))
        arrays = [array[None] for array in self.dqn.q.get_weights()]
        return list(zip(arrays[::2], arrays[1::2], strict=True))


def make() -> KerasPeer:
    """What `worker.py` asks for."""
    return KerasPeer()
