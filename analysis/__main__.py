"""The analysis at the command line: `crucible tables | regress | compare | …`."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module

from harness.errors import UserError
from harness.installation import missing

COMMANDS = {
    "tables": "tables of campaigns, with intervals",
    "regress": "which errors go with violations, and how sure that is",
    "compare": "two systems or conditions, paired by route and seed",
    "report": "everything as one page, and its tables",
    "replay": "one drive again: pictures, film, recording, clouds",
    "power": "how many routes and seeds find which difference",
    "calibrate": "how often the regressions cry wolf, by simulation",
}
"""Each in a module of `analysis.commands`, loaded only when asked for."""


def main(arguments: list[str] | None = None, program: str = "python -m analysis") -> int:
    """Run one command; what the user can put right is one line and exit code 2."""
    asked = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(prog=program, description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    try:
        for name, what in COMMANDS.items():
            if name in asked[:1]:
                import_module(f"analysis.commands.{name}").add(commands)
            else:
                commands.add_parser(name, help=what)
        options = parser.parse_args(asked)
        done: int = options.run(options)
    except UserError as problem:
        print(problem, file=sys.stderr)
        return 2
    except ModuleNotFoundError as problem:
        if (problem.name or "").startswith(("analysis", "harness")):
            raise
        print(f"{program} {asked[0]}: {missing(problem.name or '', 'analysis')}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("told to end: what was written before is whole", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return done


if __name__ == "__main__":
    raise SystemExit(main())
