"""Sums in one order: the flags with which the same seed gives the same bytes on every x86 CPU with AVX2.

- One thread. The pipeline fills the cores with jobs, and sums that are split between threads differ in their last bits.
- Without platform-dependent math, XLA's matrix products add their terms in order.
- CPUs estimate 1 / sqrt(x) in spite of the flags, so no training here computes it.
- With AVX as the newest instructions, XLA compiles for the same CPU everywhere, and rounds every product before it adds
  it. Matrix products are not compiled: they still run on the widest vectors.
- NumPy has functions of its own for AVX-512, and OpenBLAS has products for each CPU. All take those of AVX2.

docs/performance.md says what else this needs, and what it does not promise.
"""

import os
import sys

PORTABLE = "portable"
_THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")
_XLA = ("--xla_cpu_enable_platform_dependent_math=false", "--xla_cpu_max_isa=AVX")
_NUMPY = {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR", "OPENBLAS_CORETYPE": "Haswell"}


def variables() -> dict[str, str]:
    """The environment variables that fix the arithmetic, for processes that have not imported NumPy or TensorFlow."""
    others = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if flag not in _XLA]
    return {**dict.fromkeys(_THREADS, "1"), **_NUMPY, "XLA_FLAGS": " ".join([*others, *_XLA])}


def fix() -> None:
    """Fixes the arithmetic of this process and its children; this precedes the import of NumPy and TensorFlow."""
    os.environ |= variables()


def is_portable() -> bool:
    """Whether XLA's sums have one order in this process."""
    return all(flag in os.environ.get("XLA_FLAGS", "").split() for flag in _XLA)


def name() -> str:
    """`PORTABLE`, or "the CPU's": for JSON files of results.

    NumPy keeps its functions for AVX-512 where a script has imported it before this package.
    """
    numpy = sys.modules.get("numpy._core._multiarray_umath")
    features = getattr(numpy, "__cpu_features__", {})
    return PORTABLE if is_portable() and not features.get("X86_V4") else "the CPU's"


def as_published(details: dict | None) -> None:
    """Takes the arithmetic of a published run, of which a beginning is trained; `details` are its JSON file's.

    Older runs have XLA's own arithmetic, which depends on the CPU. After TensorFlow's import nothing can change.
    """
    if details is None or details.get("arithmetic") == PORTABLE or "tensorflow" in sys.modules:
        return
    os.environ["XLA_FLAGS"] = " ".join(flag for flag in os.environ["XLA_FLAGS"].split() if flag not in _XLA)
    programs = os.environ.get("TF_XLA_FLAGS", "")  # compiled programs are kept apart
    os.environ["TF_XLA_FLAGS"] = f"{programs}-older" if "cache_directory" in programs else programs
