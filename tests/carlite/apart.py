"""Tests in a process of their own.

The client library keeps its Traffic Managers for as long as the process lives. When another client
of the same process reloads the world later, they may bring the whole process down.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable

from tests.conftest import ROOT, Carlite, synchronous
from tests.dying import outlived


def apart(test: Callable[..., None]) -> Callable[[Carlite], None]:
    """Run a test elsewhere; it may ask for `carlite`, `client` and `world`."""
    name = f"{test.__module__}:{test.__name__}"

    def run(carlite: Carlite) -> None:
        outlived(
            [sys.executable, "-m", "tests.carlite.apart", name, carlite.host, str(carlite.port)],
            cwd=ROOT,
            timeout=120,
        )

    run.__dict__["body"] = test
    run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
    return run


def main(name: str, host: str, port: str) -> None:
    """Run the body of a test and leave without tidying up."""
    module, _, function = name.partition(":")
    body: Callable[..., None] = vars(importlib.import_module(module))[function].body
    carlite = Carlite()
    carlite.host, carlite.port = host, int(port)
    client = carlite.fresh_client()
    world = synchronous(client)
    given = {"carlite": carlite, "client": client, "world": world}
    try:
        body(**{name: given[name] for name in inspect.signature(body).parameters})
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
