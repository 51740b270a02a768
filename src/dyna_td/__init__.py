"""Understanding and Mitigating the Limitations of Prioritized Experience Replay (UAI 2022), reproduced.

The pipeline reads `experiments` (what is run), `results` (how numbers are kept) and `aggregate` (how curves are made);
the science is in the modules named after the paper's ideas. Importing this package imports nothing else.
"""

import os

# One thread a process, wherever TensorFlow is imported from: the pipeline keeps all cores busy with jobs, a second
# thread makes small stacked networks slower, and sums split between threads would differ in their last bits.
for _variable in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
    os.environ[_variable] = "1"

__version__ = "0.1.0"
