"""`python -m dyna_td`."""

import sys

from dyna_td.cli import main

if __name__ == "__main__":
    sys.exit(main())
