"""Subcommands of `agents.training.commands` alone: networks."""

from __future__ import annotations

from collections.abc import Sequence

from harness.common.command_running import run_package_command


def main(arguments: Sequence[str] | None = None, program: str = "python -m agents.training") -> int:
    """Run one subcommand; what the user can put right is one line and an exit code."""
    return run_package_command("agents.training.commands", arguments, program)


if __name__ == "__main__":
    raise SystemExit(main())
