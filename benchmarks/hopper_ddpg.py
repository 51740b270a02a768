"""DDPG of Stable-Baselines3 on Hopper with the settings of figure 6, for comparison with ours; see `--help`.

It needs more than the project does: `pip install stable-baselines3 pandas`. What it writes can be
drawn with our own runs: `python figures/runs.py hopper.csv peer.csv --output hopper.png`. The networks are ours too:
the action joins the critic at the second layer, output layers start in U(-0.003, 0.003), all other weights
Xavier-uniform.
"""

import argparse
import time
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pandas as pd
import torch
from stable_baselines3 import DDPG
from stable_baselines3.common.noise import OrnsteinUhlenbeckActionNoise
from stable_baselines3.common.policies import ContinuousCritic
from stable_baselines3.td3.policies import TD3Policy
from torch import nn

from dyna_td.pipeline import results

HIDDEN = (200, 100)
ACTOR_RATE, CRITIC_RATE = 1e-4, 1e-3


class JoiningNetwork(nn.Module):
    """Q of columns (state, action), whose action joins the outputs of the first layer."""

    def __init__(self, states: int, actions: int):
        super().__init__()
        self.states = states
        self.first = nn.Linear(states, HIDDEN[0])
        self.second = nn.Linear(HIDDEN[0] + actions, HIDDEN[1])
        self.last = nn.Linear(HIDDEN[1], 1)

    def forward(self, both: torch.Tensor) -> torch.Tensor:
        """[B, states + actions] -> [B, 1]."""
        state, action = both[:, : self.states], both[:, self.states :]
        hidden = torch.relu(self.first(state))
        return self.last(torch.relu(self.second(torch.cat([hidden, action], dim=1))))


class JoiningCritic(ContinuousCritic):
    """Stable-Baselines3's critic with a `JoiningNetwork`."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        network = JoiningNetwork(self.observation_space.shape[0], self.action_space.shape[0])
        self.q_networks = [network]
        self.qf0 = network


class Policy(TD3Policy):
    """Actor and critic of the paper's sizes, initialised as ours."""

    def make_critic(self, features_extractor=None):
        """See TD3Policy."""
        kwargs = self._update_features_extractor(self.critic_kwargs, features_extractor)
        return JoiningCritic(**kwargs).to(self.device)

    def _build(self, lr_schedule):
        super()._build(lr_schedule)
        for network in (self.actor.mu, self.critic.qf0):
            layers = [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
            for layer in layers:
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)
            nn.init.uniform_(layers[-1].weight, -0.003, 0.003)
        self.actor_target.load_state_dict(self.actor.state_dict())
        self.critic_target.load_state_dict(self.critic.state_dict())


class TwoRates(DDPG):
    """DDPG whose actor and critic have step sizes of their own."""

    def _update_learning_rate(self, optimizers):
        self.actor.optimizer.param_groups[0]["lr"] = ACTOR_RATE
        self.critic.optimizer.param_groups[0]["lr"] = CRITIC_RATE


def make_environment() -> gymnasium.Env:
    """Hopper-v4, without the remark that there is a v5."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return gymnasium.make("Hopper-v4")


def evaluate(model: DDPG, environment: gymnasium.Env, episodes: int) -> float:
    """The mean return of some episodes of the noiseless policy."""
    total = 0.0
    for _ in range(episodes):
        observation, _ = environment.reset()
        ended = False
        while not ended:
            action, _ = model.predict(observation, deterministic=True)
            observation, reward, terminated, truncated, _ = environment.step(action)
            total += reward
            ended = terminated or truncated
    return total / episodes


def train(seed: int, steps: int, evaluate_every: int) -> tuple[list[tuple], float]:
    """Trains one seed; returns (seed, step, metric, value) rows and the training seconds."""
    environment, evaluated = make_environment(), make_environment()
    evaluated.reset(seed=10_000 + seed)
    actions = environment.action_space.shape
    model = TwoRates(
        Policy,
        environment,
        learning_rate=CRITIC_RATE,
        buffer_size=min(1_000_000, steps),
        learning_starts=10_000,
        batch_size=64,
        tau=0.001,
        gamma=0.99,
        train_freq=1,
        gradient_steps=5,
        action_noise=OrnsteinUhlenbeckActionNoise(np.zeros(actions), np.full(actions, 0.2), theta=0.15, dt=1.0),
        policy_kwargs={"net_arch": list(HIDDEN)},
        seed=seed,
        device="cpu",
    )
    rows, seconds = [(seed, 0, "return", evaluate(model, evaluated, 2))], 0.0
    for step in range(evaluate_every, steps + 1, evaluate_every):
        begun = time.perf_counter()
        model.learn(evaluate_every, reset_num_timesteps=False)
        seconds += time.perf_counter() - begun
        rows.append((seed, step, "return", evaluate(model, evaluated, 2)))
        print(f"seed {seed}, step {step}: {rows[-1][3]:.0f}, {seconds:.0f} s", flush=True)
    return rows, seconds


def main() -> None:
    """Trains and writes a CSV and its JSON file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="how many (default: 3)")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--evaluate-every", type=int, default=5_000)
    parser.add_argument("--output", type=Path, required=True, metavar="CSV")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows, seconds = [], []
    for seed in range(options.seeds):
        of_seed, took = train(seed, options.steps, options.evaluate_every)
        rows += of_seed
        seconds.append(took)
        details = {
            "agent": "SB3 DDPG",
            "environment": "Hopper-v4",
            "seeds": list(range(seed + 1)),
            "train_seconds": seconds,
        }
        results.write(options.output, pd.DataFrame(rows, columns=results.COLUMNS), details)


if __name__ == "__main__":
    main()
