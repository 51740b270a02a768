"""DQN of Stable-Baselines3: its own `train`, on its own buffer, n updates at a time as its training loop calls it.

Its loss is always Huber's, which is half the square for errors below 1. Adam takes the same step for half a gradient,
so with such errors its weights can be compared. Its clipping of gradients has no effect there.
"""

import gymnasium
import numpy as np
import stable_baselines3
import torch
import work
from stable_baselines3 import DQN
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from stable_baselines3.common.utils import polyak_update


class Nowhere(gymnasium.Env):
    """An environment that is never stepped; only its spaces are used."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (work.SIZES[0],))
    action_space = gymnasium.spaces.Discrete(work.SIZES[-1])


class StableBaselines3:
    """See `work.Learner`; one seed."""

    def __init__(self):
        torch.set_num_threads(1)
        self.model = DQN(
            "MlpPolicy",
            Nowhere(),
            learning_rate=work.LEARNING_RATE,
            buffer_size=work.BUFFER,
            batch_size=work.BATCH,
            gamma=work.DISCOUNT,
            policy_kwargs={"net_arch": list(work.SIZES[1:-1])},
            seed=0,
            device="cpu",
        )
        self.model.set_logger(Logger(None, []))
        for state, action, reward, next_state, terminated in zip(*work.transitions(work.BUFFER), strict=True):
            self.model.replay_buffer.add(state, next_state, np.array([action]), reward, terminated, [{}])
        layers = self.layers(self.model.q_net)
        self.facts = {
            "version": f"Stable-Baselines3 {stable_baselines3.__version__}, torch {torch.__version__}",
            "seeds": 1,
            "sizes": [layers[0].in_features, *(layer.out_features for layer in layers)],
            "batch": self.model.batch_size,
            "filled": self.model.replay_buffer.size(),
            "target_period": work.TARGET_PERIOD,
        }

    def train(self) -> None:
        for _ in range(work.STEPS):
            self.learn(work.PLANNING_UPDATES)

    def learn(self, updates: int) -> None:
        """The updates after an environment step, and what its callback does then: the target network follows."""
        before = self.done() // work.TARGET_PERIOD
        self.model.train(updates, self.model.batch_size)
        if self.done() // work.TARGET_PERIOD > before:
            polyak_update(self.model.q_net.parameters(), self.model.q_net_target.parameters(), 1.0)

    def done(self) -> int:
        return self.model._n_updates

    def improve(self, asked: work.Problem) -> work.Layers:
        self.assign(self.model.q_net, asked.weights)
        self.assign(self.model.q_net_target, asked.target_weights)
        batches = iter(asked.batches)
        self.model.replay_buffer.sample = lambda *_, **__: self.samples(next(batches))
        self.model.train(len(asked.batches), work.BATCH)
        del self.model.replay_buffer.sample  # the class's own method, which draws, takes its place
        parameters = [(layer.weight.T, layer.bias) for layer in self.layers(self.model.q_net)]
        return [(kernel.detach().numpy()[None], bias.detach().numpy()[None]) for kernel, bias in parameters]

    def layers(self, network: torch.nn.Module) -> list[torch.nn.Linear]:
        """The linear layers of a Q-network, in order."""
        return [layer for layer in network.modules() if isinstance(layer, torch.nn.Linear)]

    def assign(self, network: torch.nn.Module, weights: work.Layers) -> None:
        """Gives a Q-network the weights of the only seed."""
        for layer, (kernel, bias) in zip(self.layers(network), weights, strict=True):
            layer.weight.data = torch.from_numpy(kernel[0].T.copy())
            layer.bias.data = torch.from_numpy(bias[0].copy())

    def samples(self, batch: work.Transitions) -> ReplayBufferSamples:
        """A mini-batch as the library's replay buffer returns it."""
        state, action, reward, next_state, terminated = (torch.from_numpy(part[0]) for part in batch)
        return ReplayBufferSamples(state, action[:, None], next_state, terminated[:, None], reward[:, None])


make = StableBaselines3  # `worker.py` calls it
