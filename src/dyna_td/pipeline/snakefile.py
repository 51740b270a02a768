"""The start of the Snakefile: the plan at the scale of `--config`, and the environment of its jobs."""

import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from dyna_td.errors import UserError, require_choice
from dyna_td.pipeline import plans, program_cache
from dyna_td.pipeline.files import ROOT
from dyna_td.pipeline.planned import Plan


def plan_of(config: dict) -> Plan:
    """The plan at the scale of `--config`; a mistake in it or in the YAML files ends Snakemake with one sentence."""
    if set("{}") & set(str(ROOT)):
        sys.exit(f"error: the name of {ROOT} has braces, which Snakemake would fill in: rename or move the folder.")
    for key in config:
        in_one_sentence(require_choice, key, ["scale", "container"], "key of --config")
    return in_one_sentence(plans.load_plan, str(config.get("scale", "quick")))


def in_one_sentence(function: Callable, *arguments):
    """Returns `function(*arguments)`; a UserError ends Snakemake with its sentence."""
    try:
        return function(*arguments)
    except UserError as error:
        sys.exit(f"error: {error}")


def environment() -> dict[str, str]:
    """The variables with which jobs use this Python, this code, and each other's compiled programs."""
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.getenv('PATH')}",
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "TF_XLA_FLAGS": program_cache.flags(),
    }


def any_of(names: Iterable[str]) -> str:
    """A wildcard's pattern: one of `names`, or nothing at all if there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"
