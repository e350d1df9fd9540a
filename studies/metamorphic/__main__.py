"""`python -m studies.metamorphic`, the same as `crucible metamorphic`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from harness.common.command_running import run_package_command


def main(arguments: Sequence[str], program: str = "python -m") -> int:
    """Run the one subcommand of this package; bad input is one line and exit code 2."""
    return run_package_command("studies.metamorphic.commands", arguments, program)


if __name__ == "__main__":
    sys.exit(main(["metamorphic", *sys.argv[1:]]))
