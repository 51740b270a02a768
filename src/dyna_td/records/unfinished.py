"""Reading the checkpoint of a training that is under way; see `training.checkpoint`."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

# What reading a damaged file may raise.
UNREADABLE = (OSError, ValueError, TypeError, AttributeError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile)
FACTS = "facts"  # the entry for all other data, as JSON


def pack(table: pd.DataFrame, prefix: str) -> dict[str, np.ndarray]:
    """A table's columns as arrays with names that begin with `prefix`; texts have a fixed width."""
    columns = {name: table[name].to_numpy() for name in table.columns}
    return {
        f"{prefix}.{name}": values.astype(np.str_) if values.dtype.kind not in "fiu" else values
        for name, values in columns.items()
    }


def unpack(arrays: dict[str, np.ndarray], prefix: str) -> pd.DataFrame:
    """The table that `pack` converted, its columns in the same order."""
    start = f"{prefix}."
    return pd.DataFrame({name.removeprefix(start): arrays[name] for name in arrays if name.startswith(start)})


def read(path: Path, prefix: str = "") -> tuple[dict[str, np.ndarray], dict]:
    """A checkpoint's arrays whose names begin with `prefix`, and its facts; raises one of `UNREADABLE`."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files if name.startswith(prefix) and name != FACTS}
        return arrays, json.loads(archive[FACTS].tobytes())


def records_of(path: Path) -> tuple[pd.DataFrame, dict] | None:
    """The evaluations in the checkpoint of a training that is under way, and its run's settings; None without one."""
    try:
        arrays, facts = read(path, "log0.metrics")
        run, table = facts["identity"]["settings"][0], unpack(arrays, "log0.metrics")
    except UNREADABLE:
        return None
    return (table[table["seed"].isin(run["seeds"])], run) if len(table) else None


def steps_of(path: Path, source: str) -> int:
    """The steps that a training with this source digest need not repeat, of all its stacks and rates together."""
    facts = facts_of(path)
    return facts.get("steps_done", 0) if facts.get("identity", {}).get("source") == source else 0


def facts_of(path: Path) -> dict:
    """The facts of the checkpoint at `path`, among them the training's `identity`; empty if none can be read."""
    try:
        return read(path, FACTS)[1]
    except UNREADABLE:
        return {}
