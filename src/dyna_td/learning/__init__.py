"""Random streams, stacked networks, replay, action values, models and the regression task."""

import os


def use_one_thread() -> None:
    """Gives this process one thread, if TensorFlow and NumPy have not begun yet.

    The pipeline keeps all cores busy with jobs, a second thread makes small stacked networks slower, and sums that are
    split between threads differ in their last bits.
    """
    for variable in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
        os.environ[variable] = "1"


use_one_thread()  # whoever learns
