"""Understanding and Mitigating the Limitations of Prioritized Experience Replay (UAI 2022), reproduced.

The science: `envs` (in a checkout, the folder envs/), `agents` (one file each), `search` (the chains of Algorithms 3
and 4), `learning`, `measures`, `theory`, and `programs`, the compiled loops around them. The infrastructure: `settings`
and `runs` list the valid choices, `plan` turns YAML files into runs, `training` trains one, `records` stores results,
`evidence` judges the claims, `pages` writes reports, `publishing` fills reference/, and `playing` shows trained agents.
`cli` and `commands` are the command line, and `pipeline` serves the Snakefile.

For Python users: `train`, `Result`, `load_policy`, `Policy`, `load_returns`, `Returns` (docs/using.md).
"""

from pathlib import Path

__version__ = "1.0.0"

_HERE = Path(__file__).resolve().parent
if not (_HERE / "envs").is_dir():  # a checkout has the environments at its top level, a wheel here
    __path__.append(str(_HERE.parents[1]))

_PUBLIC = {name: "training.api" for name in ("train", "Result")}
_PUBLIC |= {name: "records.policy" for name in ("load_policy", "Policy")}
_PUBLIC |= {name: "evidence.returns" for name in ("load_returns", "Returns")}
__all__ = ["Policy", "Result", "Returns", "load_policy", "load_returns", "train"]


def __dir__() -> list[str]:
    """The public names, which are imported on first use."""
    return [*__all__, "__version__"]


def __getattr__(name: str):
    """Imports a public name on first use, so that `import dyna_td` alone loads and changes nothing."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_PUBLIC[name]}"), name)
