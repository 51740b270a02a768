"""Understanding and Mitigating the Limitations of Prioritized Experience Replay (UAI 2022), reproduced.

The science: `agents` (one file each), `search` (the chains of Algorithms 3 and 4), `learning`, `measures`, and
`training`, the compiled loop around them. The house around it: `settings` and `registry` say what can be asked for,
`pipeline` turns YAML files into results, `evidence` judges the claims, `publishing` fills reference/.
"""

import os

# One thread a process: the pipeline keeps all cores busy with jobs, a second thread makes small stacked networks
# slower, and sums that are split between threads differ in their last bits.
for _variable in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
    os.environ[_variable] = "1"

__version__ = "0.1.0"
