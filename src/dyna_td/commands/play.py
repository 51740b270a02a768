"""The command `play`: evaluates a trained policy, or shows it."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dyna_td.commands import arguments
from dyna_td.errors import UserError
from dyna_td.records.files import require_writable
from dyna_td.records.policy import Policy, load_policy


def add_commands(add: Callable) -> None:
    """Adds the command by `add(name, function, text)`; see `cli`."""
    play = add("play", _play, "evaluate a trained policy, or show it in a video")
    play.add_argument("policy", type=Path, metavar="NPZ", help="x.policy.npz, which `train` writes beside x.csv")
    play.add_argument(
        "--seed", type=int, metavar="K", help="the seed to play (default: all; for a picture or video the first)"
    )
    play.add_argument("--episodes", type=arguments.positive_integer, metavar="N", help="default: 10; for a video 1")
    text = "share of random actions, for discrete actions only (default: as in training's evaluations)"
    play.add_argument("--epsilon", type=arguments.between(0, 1), metavar="X", help=text)
    shown = play.add_mutually_exclusive_group()
    shown.add_argument("--video", type=Path, metavar="FILE", help="show the episodes in a .gif or .mp4")
    text = (
        "show value, TD error, queue and a chain in a .png, or over training in a .gif or .mp4; this retrains the seed"
    )
    shown.add_argument("--explain", type=Path, metavar="FILE", help=text)


def _play(options: argparse.Namespace) -> None:
    policy = load_policy(options.policy)
    if options.explain and (options.episodes is not None or options.epsilon is not None):
        raise UserError("--explain shows a training, not episodes: leave out --episodes and --epsilon.")
    if options.epsilon is not None and "evaluation_exploration" not in policy.about["settings"]:
        raise UserError("--epsilon is the share of random discrete actions, but this policy has action vectors.")
    if options.seed is not None and options.seed not in policy.seeds:
        known = ", ".join(map(str, policy.seeds))
        raise UserError(f"--seed is {options.seed}, but {options.policy} has the seeds {known}.")
    seeds = policy.seeds if options.seed is None else (options.seed,)
    if options.explain:
        _explain(policy, seeds[0], options.explain)
    elif options.video:
        _show(policy, seeds[0], options)
    else:
        _evaluate(policy, seeds, options)


def _evaluate(policy: Policy, seeds: tuple[int, ...], options: argparse.Namespace) -> None:
    from dyna_td.envs import closed_after
    from dyna_td.playing import episodes  # imported here: only playing needs Gymnasium

    epsilon = policy.epsilon if options.epsilon is None else options.epsilon
    count = options.episodes or 10
    print(f"{policy.about['agent']} on {policy.environment}, {count} episodes a seed, epsilon {epsilon:g}:")
    means = []
    for seed in seeds:
        # Each seed has its own environment: state that one keeps must not alter another seed's numbers.
        with closed_after(episodes.make_environment(policy.environment)) as environment:
            played = [episodes.play(policy, environment, seed, number, epsilon) for number in range(count)]
            if seed == seeds[0] and episodes.play(policy, environment, seed, 0, epsilon) != played[0]:
                words = "the first episode, repeated, gave other numbers; so another call will give others, too"
                print(f"warning: environment {policy.environment}: {words}.", file=sys.stderr)
        means.append(np.mean([episode.total for episode in played]))
        length = np.mean([episode.length for episode in played])
        print(f"  seed {seed}: mean return {means[-1]:,.2f}, mean length {length:,.1f} steps", flush=True)
    if len(seeds) > 1:
        print(f"  {len(seeds)} seeds: mean return {np.mean(means):,.2f}")


def _show(policy: Policy, seed: int, options: argparse.Namespace) -> None:
    from dyna_td.envs import closed_after
    from dyna_td.playing import episodes
    from dyna_td.playing.video import Video

    video = Video(options.video)
    require_writable(options.video)
    epsilon = policy.epsilon if options.epsilon is None else options.epsilon
    with closed_after(episodes.make_environment(policy.environment, pictures=True)) as environment:
        for number in range(options.episodes or 1):
            episode = episodes.play(policy, environment, seed, number, epsilon, video.add)
            print(f"seed {seed}, episode {number}: return {episode.total:,.2f}, {episode.length:,} steps", flush=True)
        video.write(min(episodes.rate_of(environment), 1 / episodes.MIN_FRAME))
    print(options.video)


def _explain(policy: Policy, seed: int, path: Path) -> None:
    from dyna_td.playing import pictures  # imported here: drawing takes a moment

    if path.suffix not in (".png", ".gif", ".mp4"):
        raise UserError(f"--explain is {str(path)!r}, expected a name that ends in .png, .gif or .mp4.")
    require_writable(path)
    pictures.write(policy, seed, path, lambda line: print(line, flush=True))
    print(path)
