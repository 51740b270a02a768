"""Sums in one order: the flags with which the same seed gives the same bytes on every x86 CPU with AVX2.

- One thread. The pipeline fills the cores with jobs, and sums that are split between threads differ in their last bits.
- Without platform-dependent math, XLA's matrix products add their terms in order.
- CPUs estimate 1 / sqrt(x) in spite of the flags, so no training here computes it.
- With AVX as the newest instructions, XLA compiles for the same CPU everywhere, and rounds every product before it adds
  it. Matrix products are not compiled: they still run on the widest vectors.
- NumPy has functions of its own for AVX-512, and OpenBLAS has products for each CPU. All take those of AVX2.
- Variables with which a user chooses other arithmetic are removed, with a warning.

docs/same_bytes.md says what else this needs, and what it does not promise.
"""

import os
import platform
import sys

PORTABLE = "portable"
_THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_XLA = ("--xla_cpu_enable_platform_dependent_math=false", "--xla_cpu_max_isa=AVX")
_NUMPY = {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR", "OPENBLAS_CORETYPE": "Haswell"}
# Variables that choose the arithmetic begin so; those that end with _VERBOSE print only.
_CHOOSING = ("XLA_FLAGS", "TF_XLA_FLAGS", "TF_ENABLE_", "ONEDNN_", "DNNL_", "NPY_", "OPENBLAS_CORETYPE")
_HARMLESS = {"XLA_FLAGS": "--xla_dump_", "TF_XLA_FLAGS": "--tf_xla_persistent_cache_"}  # a user keeps these flags
_is_late = False  # whether this process computed before its arithmetic was fixed


def variables() -> dict[str, str]:
    """The environment variables that fix the arithmetic, for processes that have not imported NumPy or TensorFlow."""
    kept = {
        name: [flag for flag in os.environ.get(name, "").split() if flag.startswith(start)]
        for name, start in _HARMLESS.items()
    }
    kept["XLA_FLAGS"] += _XLA
    flags = {name: " ".join(chosen) for name, chosen in kept.items() if chosen}
    return {**dict.fromkeys(_THREADS, "1"), **_NUMPY, **flags}


def fix() -> None:
    """Fixes the arithmetic of this process and its children; this precedes the import of NumPy and TensorFlow."""
    global _is_late
    fixed = variables()
    is_fixed = all(os.environ.get(name, "") == value for name, value in fixed.items())
    chosen = [name for name in os.environ if name.startswith(_CHOOSING) and not name.endswith("_VERBOSE")]
    others = [name for name in chosen if set(os.environ[name].split()) - set(fixed.get(name, "").split())]
    for name in others:
        del os.environ[name]
    os.environ |= fixed
    if others:
        names = ", ".join(sorted(others))
        print(f"warning: {names}: ignored, because results have one arithmetic everywhere.", file=sys.stderr)
    if "tensorflow" in sys.modules and not is_fixed:
        try:
            sys.modules["tensorflow"].config.threading.set_intra_op_parallelism_threads(1)
        except RuntimeError:  # it has computed, so the flags were read
            _is_late = True


def name() -> str:
    """`PORTABLE`, or "the CPU's": for JSON files of results.

    A script keeps other arithmetic if it imports NumPy, on a CPU with AVX-512, or computes with TensorFlow before it
    imports this package. GLIBC_TUNABLES acts before Python does. ARM rounds a * b + c once.
    """
    numpy = sys.modules.get("numpy._core._multiarray_umath")
    has_its_own = getattr(numpy, "__cpu_features__", {}).get("X86_V4") or "glibc.cpu" in os.getenv("GLIBC_TUNABLES", "")
    is_x86 = platform.machine() in ("x86_64", "AMD64")
    return PORTABLE if is_x86 and not (has_its_own or _is_late) else "the CPU's"
