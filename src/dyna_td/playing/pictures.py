"""A look inside search control as a picture; see `explain`. It imports Matplotlib."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from dyna_td.envs import KNOWN
from dyna_td.evidence.labels import name_of
from dyna_td.playing.explain import Look, moments_of, run_of, train_again
from dyna_td.playing.video import Video
from dyna_td.records.files import write_whole
from dyna_td.records.policy import Policy
from dyna_td.runs import registry
from dyna_td.runs.registry import task

PICTURES = 24  # an animation's


def picture(policy: Policy, seen: Look) -> np.ndarray:
    """The look as a picture, uint8 [height, width, 3]."""
    run = policy.about
    figure = Figure(figsize=(9, 6.2), dpi=88, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    space = registry.load(registry.twin_of(run["environment"]))()
    extent = tuple(float(bound) for pair in zip(space.low, space.high, strict=True) for bound in pair)
    axes = figure.subplots(2, 3, sharex=True, sharey=True).ravel()
    for axis, title, values, colours in (
        (axes[0], "value $V(s) = \\max_a Q(s, a)$", seen.value, "viridis"),
        (axes[1], r"TD error $|\delta(s)|$, $p^*$ is proportional to it", seen.error, "magma"),
    ):
        image = axis.imshow(values, origin="lower", extent=extent, aspect="auto", cmap=colours)
        figure.colorbar(image, ax=axis, pad=0.02)
        axis.set_title(title, fontsize=9)
    axes[2].imshow(seen.error, origin="lower", extent=extent, aspect="auto", cmap="Greys", alpha=0.5)
    axes[2].plot(*seen.chain.T, color="tab:blue", linewidth=0.8, marker=".", markersize=3)
    axes[2].plot(*seen.accepted.T, "o", color="tab:red", markersize=4)
    axes[2].set_title(f"a chain; red: {len(seen.accepted)} accepted states", fontsize=9)
    for axis, title, states in (
        (axes[3], "replay buffer, which ER draws from", seen.buffer),
        (axes[4], "draws from the ideal $p^*$", seen.ideal),
        (axes[5], "search-control queue", seen.queue),
    ):
        axis.plot(*states.T, ".", color="tab:blue", markersize=2, alpha=0.5)
        axis.set_title(f"{title}: {len(states):,} states", fontsize=9)
    for axis in axes:
        for wall in KNOWN[run["environment"]].walls:
            for low, high in ((0, wall.hole_low), (wall.hole_high, 1)):
                axis.fill_between([wall.x_low, wall.x_high], low, high, color="dimgray", linewidth=0)
        axis.set(xlim=extent[:2], ylim=extent[2:])
    for names, edge in zip(KNOWN[run["environment"]].plane, ("x", "y"), strict=True):
        for axis in axes[3:] if edge == "x" else axes[::3]:
            axis.set(**{f"{edge}label": names})
    agent = f"{name_of(run['agent'])} on {task(run['environment'])}"
    figure.suptitle(f"{agent}, after {seen.step:,} of {run['steps']:,} environment steps", fontsize=11)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def write(policy: Policy, seed: int, path: Path, show: Callable[[str], None]) -> None:
    """Writes the last look as a .png, or looks over the whole training as a .gif or .mp4; `show` takes each line."""
    run = run_of(policy, seed)
    video = Video(path, widest=800) if path.suffix != ".png" else None
    moments = moments_of(run, PICTURES if video else 1)
    show(f"seed {seed} of {run.agent} on {run.environment} is trained again: a policy has neither buffer nor queue.")
    for seen, same in train_again(policy, seed, moments):
        image, is_same = picture(policy, seen), same
        if video:
            video.add(image)
            show(f"{seen.step:,} of {run.steps:,} steps")
    if video:
        video.write(rate=4)
    else:
        with write_whole(path) as file:
            Image.fromarray(image).save(file, "PNG")
    words = (
        "those of the policy, to the last bit"
        if is_same
        else "not those of the policy: other code or arithmetic made it"
    )
    show(f"its last weights are {words}.")
