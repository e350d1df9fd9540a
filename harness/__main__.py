"""Inspect and manage campaigns, routes, maps and simulators."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from harness.errors import UserError
from harness.installation import format_missing_package
from harness.options import OneLineParser

COMMANDS = {
    "routes": "list, check, plot and generate routes",
    "maps": "save, generate and check towns' maps",
    "status": "print the progress of a campaign, and its failures",
    "twin": "re-run an attempt, unchanged or with a changed disturbance",
    "attribute": "test whether disturbances cause violations",
    "export": "pass a campaign's results on to TensorBoard, MLflow or Weights & Biases",
    "pack": "write campaigns into one small file, from which all tables are made again",
    "unpack": "make campaign folders of packed files",
    "doctor": "check this machine: packages, simulators, memory",
}
"""Each in a module of `harness.commands`, loaded only when asked for: the doctor needs nothing."""


def main(arguments: list[str] | None = None, program: str = "python -m harness") -> int:
    """Run one command; what the user can put right is one line and exit code 2."""
    asked = sys.argv[1:] if arguments is None else arguments
    parser = OneLineParser(prog=program, description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    try:
        for name, what in COMMANDS.items():
            if name in asked[:1]:
                import_module(f"harness.commands.{name}").add(commands)
            else:
                commands.add_parser(name, help=what)
        if asked[:2] == ["routes", "generate"]:
            return int(import_module("harness.world.routes.generate").main(asked[2:]))
        options = parser.parse_args(asked)
        done: int = options.run(options)
        sys.stdout.flush()
    except UserError as problem:
        print(problem, file=sys.stderr)
        return 2
    except ModuleNotFoundError as problem:
        if (problem.name or "").startswith("harness"):
            raise
        print(
            f"{program} {asked[0]}: {format_missing_package(problem.name or '', 'run')}",
            file=sys.stderr,
        )
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as problem:
        print(f"{problem.filename or asked[0]}: {problem.strerror or problem}", file=sys.stderr)
        return 2
    return done


if __name__ == "__main__":
    raise SystemExit(main())
