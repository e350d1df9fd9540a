"""`crucible serve`: carlite, which parses its own options and imports nothing of the house."""

from __future__ import annotations

from harness.common.command_registry import CommandDeclaration

COMMAND = CommandDeclaration(
    group="Routes and simulators",
    rank=40,
    purpose="start carlite, a CARLA server without a GPU",
    extra="carlite",
    examples=(
        "crucible serve",
        "crucible serve --port 0 --town CrucibleOld --seed 7",
        "crucible serve --town Town05",
    ),
)


def main(arguments: list[str], program: str = "crucible serve") -> int:
    """Run a server until it is asked to stop; return the exit code."""
    from harness.carlite.serving import main as serve  # noqa: PLC0415 - carlite's packages alone

    return serve(arguments, program)
