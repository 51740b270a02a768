"""Too few addresses are one sentence, and the arithmetic of a process is the project's."""

import functools
import os
import re
import resource

import pytest
from files import python

from dyna_td.records.files import IMPORTS


@pytest.mark.parametrize("limit", [120, 2500])  # MiB: pandas or TensorFlow's compiler does not fit
def test_too_few_addresses_are_one_sentence(tmp_path, limit):
    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (limit * 2**20,) * 2)

    words = ["train", "--env", "GridWorld", "--agent", "er", "--steps", "20", "--output", str(tmp_path / "x.csv")]
    done = python("-m", "dyna_td", *words, preexec_fn=limited)
    assert done.returncode == 2 and not any(tmp_path.iterdir())
    assert re.fullmatch(r"error: .*ulimit -v.*\n", done.stderr.splitlines(keepends=True)[-1])
    assert "Traceback" not in done.stderr


CHOOSING = ("XLA_", "TF_XLA_", "TF_ENABLE_", "ONEDNN_", "DNNL_", "NPY_", "OPENBLAS_")
# Prints the variables that are left and the arithmetic; NumPy refuses contradictory variables when it is imported.
SHOW = f"""
import os
import dyna_td.learning
import numpy
from dyna_td.learning import arithmetic
print(sorted(pair for pair in os.environ.items() if pair[0].startswith({CHOOSING})))
print(arithmetic.name())
"""
COMPUTED = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
tf.constant(1.0) + 1.0
from dyna_td.learning import arithmetic
print(arithmetic.name())
"""


@functools.cache
def process(text, **variables):
    """What a fresh Python prints on standard output and standard error."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(CHOOSING)}
    done = python("-c", text, env=kept | IMPORTS | variables, check=True)
    return done.stdout.splitlines(), done.stderr


@pytest.mark.parametrize("flags", ["--xla_cpu_max_isa=SSE4_2 --xla_cpu_enable_fast_math=true", "/a/file/of/flags"])
def test_variables_that_choose_other_arithmetic_are_ignored_with_a_warning(flags):
    variables = {
        "XLA_FLAGS": flags,
        "TF_XLA_FLAGS": "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "DNNL_MAX_CPU_ISA": "SSE41",
        "ONEDNN_DEFAULT_FPMATH_MODE": "BF16",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3",
        "NPY_ENABLE_CPU_FEATURES": "AVX2",
    }
    shown, warning = process(SHOW, **variables)
    assert shown == process(SHOW)[0] and shown[1] == "portable"
    names, _, rest = warning.removeprefix("warning: ").partition(":")
    assert {*names.split(", ")} == {*variables} and rest.startswith(" ignored")


def test_what_changes_no_number_is_kept_silently():
    harmless = {"XLA_FLAGS": "--xla_dump_to=x", "TF_XLA_FLAGS": "--tf_xla_persistent_cache_directory=x"}
    shown, warning = process(SHOW, **harmless, ONEDNN_VERBOSE="1", OMP_NUM_THREADS="4")
    assert "--xla_dump_to=x --xla_cpu" in shown[0] and "directory=x" in shown[0] and "ONEDNN_VERBOSE" in shown[0]
    assert (shown[1], warning) == ("portable", "")


def test_arithmetic_that_cannot_be_fixed_is_recorded_as_the_cpus():
    assert process(SHOW, GLIBC_TUNABLES="glibc.cpu.hwcaps=-FMA,-AVX2")[0][1] == "the CPU's"
    assert process(COMPUTED)[0][-1] == "the CPU's"
