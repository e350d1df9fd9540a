"""`python -m crucible`, the same as `crucible`."""

from __future__ import annotations

from crucible.commandline import entry

if __name__ == "__main__":
    entry()
