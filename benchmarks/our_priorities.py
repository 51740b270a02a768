"""The project's prioritized draws, 20 stacked seeds: sum tree and replay buffer in one compiled program."""

import tensorflow as tf
import work
from our_dqn import fill

from dyna_td.learning.replay import Replay
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.sum_tree import SumTree


class OurPriorities:
    """See `work.Implementation`."""

    def __init__(self):
        self.streams = Streams(tuple(range(work.SEEDS)))
        self.replay = Replay(work.SEEDS, work.BUFFER, work.SIZES[0])
        fill(self.replay)
        self.tree = SumTree(work.SEEDS, work.BUFFER)
        self.tree.assign_all(tf.constant(work.priorities(work.SEEDS, work.BUFFER)))
        self.priorities = tf.constant(work.priorities(work.CYCLES, work.SEEDS, work.BATCH))
        self.drawn = tf.Variable(tf.zeros([work.SEEDS]))
        self.count = tf.Variable(0, dtype=tf.int64)
        self.facts = {
            "version": f"TensorFlow {tf.__version__}",
            "seeds": self.tree.priorities.shape[0],
            "batch": self.priorities.shape[2],
            "filled": int(self.replay.size),
        }

    def train(self) -> None:
        self.cycle()
        self.count.numpy()

    @tf.function(jit_compile=True)
    def cycle(self) -> None:
        """Draws `work.CYCLES` mini-batches and gives each new priorities."""
        for k in tf.range(work.CYCLES):
            uniforms = self.streams.uniform(Purpose.PRIORITIZED_BATCH, (work.BATCH,), step=self.count.read_value())
            indices, _ = self.tree.draw(uniforms)
            batch = self.replay.gather(indices)
            # The sum uses all that was drawn; otherwise the compiler would drop the draws.
            parts = [tf.reduce_sum(batch.state, 2), tf.reduce_sum(batch.next_state, 2), batch.reward, batch.terminated]
            self.drawn.assign_add(tf.reduce_sum(tf.add_n([*parts, tf.cast(batch.action, tf.float32)]), axis=1))
            self.tree.assign(indices, self.priorities[k])
            self.count.assign_add(1)

    def done(self) -> int:
        return int(self.count)


make = OurPriorities  # `worker.py` calls it
