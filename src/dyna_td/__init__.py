"""Understanding and Mitigating the Limitations of Prioritized Experience Replay (UAI 2022), reproduced.

The pipeline reads `experiments` (what is run), `results` (how numbers are kept) and `aggregate` (how curves are made);
the science is in the modules named after the paper's ideas. Importing this package imports nothing else.
"""

__version__ = "0.1.0"
