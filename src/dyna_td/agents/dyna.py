"""HC-Dyna: experience replay mixed with experience simulated from states of search control (Algorithm 1)."""

import tensorflow as tf

from dyna_td.agents.er import ER
from dyna_td.learning.models import make_model
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.search.chain import SearchControl
from dyna_td.search.queue import StateQueue
from dyna_td.settings import SearchControlSettings


class Dyna(ER):
    """This is ER with: a share rho of each mini-batch simulated from states of the search-control queue B_sc.

    Subclasses define the criterion h that chains climb. Search control begins when learning does. With a learned model
    it also waits for `model_start`, and ends at `model_stop`. Before, after, and while a seed's queue is empty,
    mini-batches are ER's.
    """

    def __init__(self, settings: SearchControlSettings, learner, streams: Streams, space, steps: int):
        super().__init__(settings, learner, streams, space, steps)
        self.noise_dim = space.noise_dim
        self.simulated = round(settings.mixing_rate * settings.batch_size)  # b rho
        self.model = make_model(settings, streams, space)
        self.search_control = SearchControl(settings, streams, space)
        fills = max(0, steps - settings.warm_up_steps) // settings.search_every + 1
        capacity = min(settings.queue_capacity, fills * settings.states_per_fill)
        self.queue = StateQueue(streams.count, max(capacity, settings.states_per_fill), space.state_dim)

    def observe(self, transition: Transition) -> tf.Tensor:
        self.search_control.visited.observe(transition)
        return super().observe(transition)

    def learn(self, step: tf.Tensor, planning_updates: tf.Tensor) -> None:
        self.model.update(step, self.replay)
        is_due = (planning_updates > 0) & self.model.is_ready(step) & tf.equal(step % self.settings.search_every, 0)
        self.search(step, tf.where(is_due, self.settings.chain_steps, 0))
        super().learn(step, planning_updates)

    def search(self, step: tf.Tensor, chain_steps: tf.Tensor) -> None:
        """Adds up to m states to B_sc, from a chain of at most `chain_steps` steps (SGLD sampling of Alg. 1)."""
        states, count = self.search_control.fill(
            step,
            chain_steps,
            gradient=lambda state, i: self.criterion_gradient(state, step, i),
            start=lambda i: self.start(step, i),
        )
        self.queue.add(states, count)

    def criterion_gradient(self, state: tf.Tensor, step: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        """grad h at states [S, d], in the i-th iteration of this environment step's chain: [S, d]."""
        raise NotImplementedError

    def start(self, step: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        """Random states of B_er, from which chains start or restart in their i-th iteration: [S, d]."""
        index = self.streams.integers(Purpose.CHAIN_START, (1,), self.replay.size, step=step, inner=i)
        return self.replay.gather(index).state[:, 0]

    def mini_batch(self, step: tf.Tensor, k: tf.Tensor) -> tuple[Transition, tf.Tensor, tf.Tensor]:
        batch, indices, weight = super().mini_batch(step, k)
        if self.simulated:
            simulated = self.simulate(step, k)
            is_used = (self.queue.size > 0) & self.model.is_ready(step)  # [S]
            batch = Transition(*(_replace_first(*parts, is_used) for parts in zip(batch, simulated, strict=True)))
        return batch, indices, weight

    def simulate(self, step: tf.Tensor, k: tf.Tensor) -> Transition:
        """b rho transitions from states of B_sc, on-policy actions and the model's predictions: [S, b rho]."""
        state = self.queue.draw(self.streams, Purpose.SIMULATED_STATES, self.simulated, step, k)
        action = self.learner.on_policy(state, step, k)
        noise = self.noise(Purpose.SIMULATED_ENVIRONMENT, self.simulated, step, k)
        next_state, reward, terminated = self.model.predict(state, action, noise)
        return Transition(state, action, reward, next_state, terminated)

    def noise(self, purpose: int, count: int, step, inner) -> tf.Tensor:
        """Standard normals for `count` queries of the model: [S, count, noise_dim]."""
        return self.streams.normal(purpose, (count, self.noise_dim), step=step, inner=inner)

    def sample_states(self, step: tf.Tensor, count: int, newest: int | None = None) -> tf.Tensor:
        """See `ER.sample_states`. Draws from B_sc, or its `newest` states; from B_er where B_sc is empty."""
        queued = self.queue.draw(self.streams, Purpose.OWN_DRAWS, count, step, newest=newest)
        return tf.where(self.queue.size[:, None, None] > 0, queued, super().sample_states(step, count))

    def counters(self) -> dict[str, tf.Tensor]:
        counted = {**self.search_control.counters, "queue_size": self.queue.size}
        return {**super().counters(), **{name: tf.cast(number, tf.float64) for name, number in counted.items()}}


def _replace_first(real, simulated, condition):
    """`real` [S, b, ...], its first b rho replaced by `simulated` [S, b rho, ...] where `condition` [S] holds."""
    count = simulated.shape[1]
    condition = tf.reshape(condition, [-1] + [1] * (len(real.shape) - 1))
    return tf.concat([tf.where(condition, simulated, real[:, :count]), real[:, count:]], axis=1)
