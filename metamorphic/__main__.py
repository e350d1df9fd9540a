"""`python -m metamorphic`, the same as `crucible metamorphic`."""

from __future__ import annotations

import sys

from metamorphic.commandline import main

if __name__ == "__main__":
    sys.exit(main(["metamorphic", *sys.argv[1:]], "python -m"))
