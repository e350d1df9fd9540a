"""The house at the command line: `python -m harness routes | maps …`."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module

from harness.commands import maps, routes
from harness.errors import UserError

COMMANDS = (routes, maps)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; what the user can put right is one line and exit code 2."""
    asked = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(prog="python -m harness", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for command in COMMANDS:
        command.add(commands)
    try:
        if asked[:2] == ["routes", "generate"]:
            return int(import_module("harness.world.routes.generate").main(asked[2:]))
        options = parser.parse_args(asked)
        done: int = options.run(options)
    except UserError as problem:
        print(problem, file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return done


if __name__ == "__main__":
    raise SystemExit(main())
