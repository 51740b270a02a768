"""Trained policies as files, and their actions in NumPy.

A policy file is a NumPy archive without pickled objects. It holds the weights of every seed by their names, the seed
axis first: `q.kernel0` [S, out, in] and `q.bias0` [S, out], ... of deep Q-learning's action values, or `actor.kernel0`,
... of DDPG's actor. `about` is JSON as text: environment, agent, settings, seeds, versions.
"""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dyna_td.errors import UserError
from dyna_td.records.files import require_writable, write
from dyna_td.runs.run import describes_run

_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh}
_ABOUT = "about"


@dataclass(frozen=True)
class Policy:
    """The trained policies of all seeds of a run.

    Attributes:
      about: facts of the run's JSON file: environment, agent, settings, seeds, steps, versions, ...
      weights: float32 arrays [S, ...] by name, see the module.
    """

    about: dict
    weights: dict[str, np.ndarray]

    @property
    def environment(self) -> str:
        """The environment's id."""
        return self.about["environment"]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in the order of the arrays' first axis."""
        return tuple(self.about["seeds"])

    @property
    def actions(self) -> int:
        """The number of actions, or of the numbers in an action that is a vector."""
        return next(reversed(self.weights.values())).shape[1]

    @property
    def epsilon(self) -> float:
        """The share of random actions of the evaluated policy; 0 with action vectors."""
        return self.about["settings"].get("evaluation_exploration", 0.0)

    def outputs(self, states: np.ndarray, seed: int) -> np.ndarray:
        """The acting network's outputs, Q(s, .) or the actor's: states [B, d] -> [B, A] or [B, a].

        Raises:
          UserError: the file has no such seed, or states have another length than in training.
        """
        if seed not in self.seeds:
            raise UserError(f"seed {seed} is not in this policy, expected one of {', '.join(map(str, self.seeds))}.")
        network = next(iter(self.weights)).partition(".")[0]
        activation = _ACTIVATIONS[self.about["settings"]["activation"]]
        columns, depth, s = np.asarray(states, np.float32).T, len(self.weights) // 2, self.seeds.index(seed)
        width = self.weights[f"{network}.kernel0"].shape[2]
        if columns.shape[:1] != (width,) or columns.ndim != 2:
            shape = np.shape(states)
            raise UserError(f"states have shape {shape}, expected [B, {width}] as {self.environment} had in training.")
        for layer in range(depth):
            kernel, bias = (self.weights[f"{network}.{part}{layer}"][s] for part in ("kernel", "bias"))
            columns = kernel @ columns + bias[:, None]
            if layer + 1 < depth:
                columns = activation(columns)
        return columns.T

    def act(self, states: np.ndarray, seed: int) -> np.ndarray:
        """The greedy actions of a seed: float32 [B, d] -> numbers [B], or vectors [B, a] in [-1, 1].

        One state [d] gives one action.
        """
        if np.ndim(states) == 1:
            return self.act(np.asarray(states)[None], seed)[0]
        outputs = self.outputs(states, seed)
        return outputs.argmax(axis=1) if "q.kernel0" in self.weights else np.tanh(outputs)

    def save(self, path: str | Path) -> None:
        """Writes a policy file, for `load_policy` and `python -m dyna_td play`; a UserError if it cannot."""
        require_writable(Path(path))
        write(Path(path), self.as_bytes())

    def as_bytes(self) -> bytes:
        """The contents of a policy file."""
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **{_ABOUT: np.array(json.dumps(self.about))}, **self.weights)
        return file.getvalue()


def load_policy(path: str | Path) -> Policy:
    """Reads a policy file.

    Raises:
      UserError: it is not there, damaged, or another kind of file.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        policy = Policy(json.loads(str(arrays.pop(_ABOUT))), arrays)
        if not describes_run(policy.about):
            raise ValueError
        rows = {len(array) for array in arrays.values()}
        if rows != {len(policy.seeds)} or not all(np.isreal(array).all() for array in arrays.values()):
            raise ValueError
        policy.outputs(np.zeros([1, next(iter(arrays.values())).shape[-1]]), policy.seeds[0])
        return policy
    except FileNotFoundError as error:
        raise UserError(f"there is no {path}: `python -m dyna_td train` leaves one beside its CSV.") from error
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}.") from error
    except Exception as error:  # a foreign file may raise anything
        raise UserError(f"{path} is damaged or no policy file: name an .npz that `train` wrote.") from error
