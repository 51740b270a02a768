"""The parts of pictures: panels of curves, dots, maps and scenes, their style, and the whole picture."""

import os

os.environ["MPLBACKEND"] = "Agg"  # pictures go into files; a backend of the user's may be missing
