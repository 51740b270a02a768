"""Random streams, stacked networks, replay, values, models and the regression task. Sets one thread a process."""

import os

# This precedes the import of NumPy and TensorFlow. The pipeline fills the cores with jobs, and a second thread makes
# small stacked networks slower. Sums that are split between threads also differ in their last bits.
for _variable in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
    os.environ[_variable] = "1"
