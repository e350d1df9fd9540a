"""Options of commands that work on the network of one fusion scheme."""

from __future__ import annotations

import argparse
from typing import Any

from agents.perception.fusion.catalogue import SCHEMES

SCHEME = f"{', '.join(SCHEMES)}; or your own fusion module, package.module:Class"


def add_scheme_options(parser: argparse.ArgumentParser) -> None:
    """Add what names a fusion module."""
    parser.add_argument("--scheme", required=True, metavar="SCHEME", help=SCHEME)
    parser.add_argument(
        "--settings",
        nargs="+",
        default=(),
        metavar="NAME=VALUE",
        help="settings of the fusion module (default: the defaults of the module)",
    )


def get_scheme_option_values(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a command."""
    values = {name: value for name, value in vars(options).items() if name != "run"}
    return {**values, "settings": tuple(values["settings"])}
