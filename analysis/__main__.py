"""Analyse campaigns: tables, report, comparisons, regressions, replay. Needs no simulator."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from harness.errors import UserError
from harness.installation import format_missing_package
from harness.options import OneLineParser

COMMANDS = {
    "tables": "print and write the tables of campaigns",
    "regress": "regress violations on error patterns",
    "predict": "predict violations from error patterns and surrogates, routes held out",
    "compare": "compare arms, paired by route and seed",
    "report": "write one HTML page with tables, figures and violations",
    "replay": "show one drive: image, film, Rerun recording, point clouds",
    "effects": "effects of interventions on error patterns, in pairs",
    "errors": "measure a system's errors, to inject them",
    "power": "estimate statistical power for numbers of routes and seeds",
    "calibrate": "estimate false-positive rates by simulation",
}
"""Each command is a module of `analysis.commands`, imported when it is used."""


def main(arguments: list[str] | None = None, program: str = "python -m analysis") -> int:
    """Run one command; a user error is one line and exit code 2."""
    asked = sys.argv[1:] if arguments is None else arguments
    parser = OneLineParser(prog=program, description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    try:
        for name, what in COMMANDS.items():
            if name in asked[:1]:
                import_module(f"analysis.commands.{name}").add_parser(commands)
            else:
                commands.add_parser(name, help=what)
        options = parser.parse_args(asked)
        done: int = options.run(options)
        sys.stdout.flush()
    except UserError as problem:
        print(problem, file=sys.stderr)
        return 2
    except ModuleNotFoundError as problem:
        if (problem.name or "").startswith(("analysis", "harness")):
            raise
        print(
            f"{program} {asked[0]}: {format_missing_package(problem.name or '', 'analysis')}",
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        print("interrupted; files written so far are complete", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return done


if __name__ == "__main__":
    raise SystemExit(main())
