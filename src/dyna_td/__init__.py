"""Understanding and Mitigating the Limitations of Prioritized Experience Replay (UAI 2022), reproduced.

The science: `agents` (one file each), `search` (the chains of Algorithms 3 and 4), `learning`, `measures`, `theory`,
and `training`, the compiled loop around them. The house around it: `settings` and `registry` say what can be asked for,
`plan` turns YAML files into runs, `records` keeps results, `evidence` judges the claims, `pages` writes them down,
`publishing` fills reference/, and `playing` shows what was trained. `cli` and `commands` are the command line,
`pipeline` is what the Snakefile needs.

For use from Python: `train`, `Result`, `load_policy`, `Policy` (docs/using.md).
"""

__version__ = "1.0.0"

_PUBLIC = {name: "training.api" for name in ("train", "Result")}
_PUBLIC |= {name: "records.policy" for name in ("load_policy", "Policy")}
__all__ = ["Policy", "Result", "load_policy", "train"]


def __getattr__(name: str):
    """Imports a public name when it is asked for: `import dyna_td` alone loads and changes nothing."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_PUBLIC[name]}"), name)
