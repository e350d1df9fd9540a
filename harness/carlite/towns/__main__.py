"""Command line of the towns: `python -m harness.carlite.towns build [NAME...] [--check]`."""

from __future__ import annotations

import argparse
import sys

from harness.carlite.errors import UserError
from harness.carlite.towns import authoring


def _names(asked: list[str]) -> list[str]:
    unknown = [name for name in asked if name not in authoring.PLANS]
    if unknown:
        raise UserError(f"unknown town {unknown[0]}; there are {', '.join(authoring.PLANS)}")
    return asked or list(authoring.PLANS)


def _build(names: list[str], check: bool) -> None:
    """Write the towns' files, or only compare them with what the plans give."""
    for name in names:
        path = authoring.DATA / f"{name}.xodr"
        text = authoring.opendrive(name)
        if not check:
            path.write_text(text, encoding="utf-8", newline="\n")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            raise UserError(f"{path.name} is not what its plan gives; build {name} anew")
        print(f"{name}: {len(text) / 1e3:.0f} kB{' as planned' if check else ''}")


def main() -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="python -m harness.carlite.towns", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="write the OpenDRIVE files of our own towns")
    build.add_argument("names", nargs="*", metavar="NAME")
    build.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args()
    try:
        _build(_names(options.names), options.check)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
