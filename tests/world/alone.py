"""Runs a function in a process of its own, which may open sessions with a Traffic Manager."""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from tests.conftest import ROOT
from tests.dying import outlived


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a module's function elsewhere; arguments and result travel as JSON."""
    done = outlived(
        [sys.executable, "-m", "tests.world.alone", function.__module__, function.__name__],
        input=json.dumps(arguments),
        cwd=ROOT,
        timeout=240,
    )
    return json.loads(done.stdout.splitlines()[-1])


def main(module: str, function: str) -> None:
    """Call it, print what it returns, and leave without tidying up."""
    arguments = json.loads(sys.stdin.read())
    try:
        print(json.dumps(getattr(importlib.import_module(module), function)(*arguments)))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
