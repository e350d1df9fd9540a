"""`python -m` of this package: the commands of `carlite`."""

from __future__ import annotations

import sys

from harness.carlite.commandline import hide_scipy, run_carlite_command

if __name__ == "__main__":
    hide_scipy()
    sys.exit(run_carlite_command(sys.argv[1:], f"python -m {__package__}"))
