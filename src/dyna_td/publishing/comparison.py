"""A fresh run at any scale against the published results, curve by curve.

The band of a published curve, with mean m, standard error s and N seeds, is m +- t s sqrt(1 + N/n): there the mean of n
other seeds lies in 95 of 100 cases (t: Student's, N - 1 degrees of freedom). Between published evaluations, it is
interpolated. A closed form has no band beyond rounding.
"""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import scipy  # loads its parts when they are used

from dyna_td.pipeline import provenance, results
from dyna_td.pipeline.plans import Plan
from dyna_td.pipeline.remedies import naming_damage
from dyna_td.publishing import reference

COLUMNS = ["figure", "panel", "curve", "metric", "seeds", "last_step", "evaluations", "inside", "largest", "at_step"]
COLUMNS += ["verdict", "other_settings"]
# Neighbouring evaluations of a curve move together, so more than one in twenty may lie outside.
_ENOUGH_INSIDE = 0.8
_ROUNDING = 1e-6  # relative, of numbers without spread
_PLACE = ["panel", "curve", "metric"]
_NUMBERS = ["step", "mean", "standard_error", "n"]


def compare(plan: Plan, paper: Plan, figures: list[str], directory: Path, published: Path) -> pd.DataFrame:
    """One row a curve (`COLUMNS`).

    `inside` is the share of its evaluations in the band. `largest` is the largest distance from the band's middle in
    half-widths, reached `at_step`. The verdict is inside, outside, nothing to compare, or too little data: the band is
    wider than all that the published curve learns.

    The `figures` of `plan` below `directory` are compared with those of the `paper`'s plan in the folder `published`.
    """
    rows = []
    for name in figures:
        csv = results.curves_csv(plan.scale, name, directory)
        fresh = _read(csv, f"delete it and run `make {name} SCALE={plan.scale}`")
        csv = reference.curves_csv(name, published)
        bands = _read(csv, reference.again(csv))
        shown = {key: panel.metric for key, panel in plan.figure(name).panels.items()}
        own = fresh[fresh["panel"].map(shown) == fresh["metric"]]
        for place, curve in own.groupby(_PLACE, sort=False):
            band = bands[(bands[_PLACE] == list(place)).all(axis="columns")]
            others = other_settings(plan, paper, (name, *place[:2]), published)
            rows.append([name, *place, *_against(curve.sort_values("step"), band.sort_values("step")), others])
    return pd.DataFrame(rows, columns=COLUMNS)


def as_text(table: pd.DataFrame) -> str:
    """`table` for the terminal."""
    formats = {"inside": "{:.0%}", "largest": "{:.2g}"}
    words = {
        name: [form.format(number) if np.isfinite(number) else "-" for number in table[name]]
        for name, form in formats.items()
    }
    shown = table.assign(**words)
    return shown.drop(columns=["metric", "last_step", "at_step"]).to_string(index=False, justify="left")


def other_machines(plan: Plan, figures: list[str], directory: Path, published: Path) -> str:
    """The CPUs and versions of published runs that differ from those of their fresh twins, in words, each once."""
    found: dict[str, None] = {}
    for name in figures:
        for run in plan.figure(name).runs:
            csv, there = results.run_csv(plan.scale, run.name, directory), reference.read_details(run.name, published)
            if there and results.provenance_json(csv).exists():
                here = results.read_details(csv, "delete it and make it again")
                found |= dict.fromkeys(provenance.differing(there, here).split("; "))
    return "; ".join(filter(None, found))


def _read(path: Path, rebuild: str) -> pd.DataFrame:
    """A curves.csv, in which every row has what is compared; `rebuild` is what to do if it does not."""
    with naming_damage(path, rebuild):
        content = path.read_bytes()
        table = pd.read_csv(io.BytesIO(content), dtype=dict.fromkeys(_PLACE, str))
        table = table.assign(**{name: table[name].astype(float) for name in _NUMBERS})
        if not content.endswith(b"\n") or table.empty or table[[*_PLACE, "step", "n"]].isna().any(axis=None):
            raise ValueError("cut off, empty or with gaps")
        return table


def _against(fresh: pd.DataFrame, band: pd.DataFrame) -> list:
    """The columns from `seeds` to `verdict` of one curve against its published rows."""
    if not band.empty:
        fresh = fresh[fresh["step"].between(band["step"].min(), band["step"].max())]
    fresh = fresh[np.isfinite(fresh["mean"])]
    seeds, last = (int(fresh[name].max()) if len(fresh) else 0 for name in ("n", "step"))
    if band.empty or fresh.empty:
        return [seeds, last, 0, np.nan, np.nan, last, "nothing to compare"]
    steps = fresh["step"].to_numpy()
    middle, error, count = (np.interp(steps, band["step"], band[key]) for key in ("mean", "standard_error", "n"))
    quantile = scipy.stats.t.ppf(0.975, np.maximum(count - 1, 1))
    width = quantile * error * np.sqrt(1 + count / fresh["n"]) + _ROUNDING * np.abs(middle) + 1e-12
    distance = (np.abs(fresh["mean"] - middle) / width).to_numpy()
    inside = float((distance <= 1).mean())
    verdict = "inside" if inside >= _ENOUGH_INSIDE else "outside"
    if verdict == "inside" and 0 < np.ptp(band["mean"]) < np.median(width):  # any curve would lie inside
        verdict = "too little data"
    return [seeds, last, len(fresh), inside, float(distance.max()), int(steps[distance.argmax()]), verdict]


def other_settings(plan: Plan, paper: Plan, place: tuple[str, str, str], published: Path) -> str:
    """The settings of the fresh run that the published one has otherwise, as "learning_rate 0.001 for 0.01".

    `place` is figure, panel and curve.
    """
    figure, panel, curve = place
    run, twin = (each.figure(figure).panels[panel].curves.get(curve) for each in (plan, paper))
    details = twin and reference.read_details(twin.name, published)
    if not (run and details):
        return ""
    mine, theirs = results.describe(run)["settings"], details["settings"]
    if run.sweep:
        del mine["learning_rate"]  # chosen on the fresh run's own selection seeds
    mine = {key: list(value) if isinstance(value, tuple) else value for key, value in mine.items()}
    differing = [key for key in mine if key in theirs and mine[key] != theirs[key]]
    return ", ".join(f"{key} {mine[key]} for {theirs[key]}" for key in differing)
