"""TensorFlow without the messages that it prints when it is imported."""

import importlib
import os
import resource
import sys

from dyna_td.errors import UserError

_KERAS = "TF_USE_LEGACY_KERAS"  # which Keras TensorFlow imports
_ADDRESSES = 3 * 2**30  # bytes; TensorFlow's compiler aborts with 2.7 GiB


def import_tensorflow() -> None:
    """Imports TensorFlow without its messages, and without Keras; modules that need TensorFlow are imported after it.

    TensorFlow would import Keras, which takes a second. Here it is asked for the legacy Keras, which is not installed,
    so it imports none. A module that asks for Keras still gets it.

    Raises:
      UserError: `ulimit -v` leaves too few addresses, with which TensorFlow would abort without a sentence.
    """
    addresses, _ = resource.getrlimit(resource.RLIMIT_AS)
    if addresses != resource.RLIM_INFINITY and addresses < _ADDRESSES:
        raise UserError(
            f"`ulimit -v` leaves {addresses / 2**30:.1f} GiB of addresses: TensorFlow needs 3 GiB, so raise it."
        )
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
