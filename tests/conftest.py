"""Programs are compiled once for all tests, and a process reads each plan once."""

import functools
import os

from dyna_td.pipeline import snakefile
from dyna_td.plan import plans
from dyna_td.records.files import ROOT

# As in the pipeline, equal programs are compiled once for all processes and later calls.
os.environ["TF_XLA_FLAGS"] = snakefile.xla_flags(ROOT / ".pytest_cache" / "programs")

# Reading a plan takes half a second, and many commands do so. Each process reads that of experiments/ once.
_read = plans.load_plan
_read_once = functools.cache(_read)
plans.load_plan = lambda scale, directory=plans.DIRECTORY: (
    _read_once(scale) if directory == plans.DIRECTORY else _read(scale, directory)
)
