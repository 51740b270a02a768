"""A fresh run at any scale against the published results, curve by curve.

The band of a published curve, with mean m, standard error s and N seeds, is m +- t s sqrt(1 + N/n): there the mean of n
other seeds lies in 95 of 100 cases (t: Student's, N - 1 degrees of freedom). Between published evaluations, it is
interpolated. A closed form has no band beyond rounding.
"""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import scipy  # whose parts are loaded when they are used

from dyna_td.pipeline import results
from dyna_td.pipeline.plans import Figure, Plan
from dyna_td.pipeline.remedies import told_if_damaged
from dyna_td.publishing import reference

COLUMNS = ["figure", "panel", "curve", "metric", "seeds", "last_step", "evaluations", "inside", "largest", "at_step"]
COLUMNS += ["verdict", "other_settings"]
# Evaluations of one curve go together, so that one in twenty outside is no rule: a whole stretch may be.
_ENOUGH_INSIDE = 0.8
_ROUNDING = 1e-6  # relative, of numbers without spread
_PLACE = ["panel", "curve", "metric"]
_NUMBERS = ["step", "mean", "standard_error", "n"]


def compare(plan: Plan, figures: list[str], directory: Path, published: Path) -> pd.DataFrame:
    """One row a curve (`COLUMNS`): the share of its evaluations `inside` the band, the `largest` distance from the
    band's middle in half-widths, the step of that, and the verdict: inside, outside, or nothing to compare.

    Args:
      plan: at the scale of the fresh run.
      figures: which to compare, each published and finished at that scale.
      directory: of the fresh results.
      published: the published results' folder.
    """
    rows = []
    for name in figures:
        told = reference.read_provenance(name, published)
        mine = results.curves_csv(plan.scale, name, directory)
        fresh_curves = _read(mine, f"delete it and run `make {name} SCALE={plan.scale}`")
        theirs = reference.curves_csv(name, published)
        published_curves = _read(theirs, reference.again(theirs))
        for place, fresh in _curves(plan.figure(name), fresh_curves):
            band = published_curves[(published_curves[_PLACE] == list(place)).all(axis="columns")]
            others = _other_settings(plan.figure(name), place, told)
            rows.append([name, *place, *_against(fresh, band.sort_values("step")), others])
    return pd.DataFrame(rows, columns=COLUMNS)


def as_text(table: pd.DataFrame) -> str:
    """`table` for the terminal, each figure's name once."""
    shown = table.assign(
        inside=table["inside"].map("{:.0%}".format), largest=table["largest"].map("{:.2g}".format), metric=None
    ).drop(columns=["metric", "last_step", "at_step"])
    return shown.to_string(index=False, justify="left")


def _read(path: Path, rebuild: str) -> pd.DataFrame:
    """A curves.csv, in which every row has what is compared; `rebuild` is what to do if it does not."""
    with told_if_damaged(path, rebuild):
        content = path.read_bytes()
        table = pd.read_csv(io.BytesIO(content), dtype=dict.fromkeys(_PLACE, str))
        table = table.assign(**{name: table[name].astype(float) for name in _NUMBERS})
        if not content.endswith(b"\n") or table.empty or table[[*_PLACE, "step", "n"]].isna().any(axis=None):
            raise ValueError("cut off, empty or with gaps")
        return table


def _curves(figure: Figure, curves: pd.DataFrame):
    """The evaluations of the metric that each panel shows, by panel, curve and metric."""
    shown = {key: panel.metric for key, panel in figure.panels.items()}
    own = curves[curves["panel"].map(shown) == curves["metric"]]
    for place, fresh in own.groupby(_PLACE, sort=False):
        yield place, fresh.sort_values("step")


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
    return [seeds, last, len(fresh), inside, float(distance.max()), int(steps[distance.argmax()]), verdict]


def _other_settings(figure: Figure, place: tuple[str, str, str], told: dict) -> str:
    """What the plan of the fresh run sets otherwise, as "learning_rate 0.001 for 0.01"; swept rates are left out."""
    panel, curve, _ = place
    run = figure.panels[panel].curves.get(curve)
    name = told["panels"].get(panel, {}).get("curves", {})
    published = told["runs"].get(name.get(curve)) if isinstance(name, dict) else None
    if run is None or published is None:
        return ""
    mine = results.describe(run)["settings"]
    theirs = published["settings"]
    differing = [key for key in mine if key in theirs and _plain(mine[key]) != _plain(theirs[key])]
    if run.sweep and "learning_rate" in differing:
        differing.remove("learning_rate")  # chosen on the fresh run's own selection seeds
    return ", ".join(f"{key} {_plain(mine[key])} for {_plain(theirs[key])}" for key in differing)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
