"""TensorFlow without the messages that it prints when it is imported."""

import importlib
import os
import sys

from dyna_td.learning.memory import require_room_for_tensorflow

_KERAS = "TF_USE_LEGACY_KERAS"  # which Keras TensorFlow imports


def import_tensorflow() -> None:
    """Imports TensorFlow without its messages, and without Keras; modules that need TensorFlow are imported after it.

    TensorFlow would import Keras, which takes a second. Here it is asked for the legacy Keras, which is not installed,
    so it imports none. A module that asks for Keras still gets it.

    Raises:
      UserError: if memory or addresses are too few for it.
    """
    require_room_for_tensorflow()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    is_chosen = _KERAS in os.environ
    os.environ.setdefault(_KERAS, "1")
    sys.stderr.flush()
    standard_error = os.dup(2)
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        importlib.import_module("tensorflow")
    finally:
        os.dup2(standard_error, 2)
        os.close(standard_error)
        if not is_chosen:
            del os.environ[_KERAS]
