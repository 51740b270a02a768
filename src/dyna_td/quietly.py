"""Imports that would greet, silenced."""

import importlib
import os
import sys


def import_quietly(module: str):
    """Imports a module that imports TensorFlow, without a greeting from its libraries."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stderr.flush()
    standard_error = os.dup(2)
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        return importlib.import_module(module)
    finally:
        os.dup2(standard_error, 2)
        os.close(standard_error)
