"""Reinforcement-learning environments: Gymnasium environments and, in `envs.twins`, their TensorFlow twins.

Importing this package registers `GridWorld`, `MazeGridWorld` and `roundabout-paper-v0` with Gymnasium. It imports
neither TensorFlow nor highway-env.
"""

import gymnasium

from dyna_td.errors import require_choice

# The longest episode of each environment, in steps; MountainCar's 2000 is the paper's, Gymnasium's own is 200.
TIME_LIMITS = {
    "GridWorld": 2000,
    "MazeGridWorld": 2000,
    "MountainCar-v0": 2000,
    "CartPole-v1": 500,
    "Acrobot-v1": 500,
}

for _name in ("GridWorld", "MazeGridWorld"):
    gymnasium.register(_name, entry_point=f"envs.grid_world:{_name}", max_episode_steps=TIME_LIMITS[_name])
gymnasium.register("roundabout-paper-v0", entry_point="envs.roundabout:Roundabout", max_episode_steps=11)


def make(environment: str, **kwargs) -> gymnasium.Env:
    """Makes the Gymnasium environment as this project uses it, i.e. with the time limits of `TIME_LIMITS`.

    Args:
      environment: a key of `TIME_LIMITS`.
      **kwargs: passed to `gymnasium.make`, e.g. `render_mode="rgb_array"`.

    Raises:
      UserError: the environment is unknown.
    """
    require_choice(environment, TIME_LIMITS, "environment")
    return gymnasium.make(environment, **{"max_episode_steps": TIME_LIMITS[environment], **kwargs})
