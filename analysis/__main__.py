"""Subcommands of `analysis.commands` alone: they read records, and need no simulator."""

from __future__ import annotations

from collections.abc import Sequence

from harness.common.command_running import run_package_command


def main(arguments: Sequence[str] | None = None, program: str = "python -m analysis") -> int:
    """Run one subcommand; what the user can put right is one line and an exit code."""
    return run_package_command(
        "analysis.commands", arguments, program, studies=("studies.interventions",)
    )


if __name__ == "__main__":
    raise SystemExit(main())
