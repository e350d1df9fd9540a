"""A plug-in of pytest: fixtures that are a running server.

    def test_it(carlite_server):
        client = carla.Client(carlite_server.host, carlite_server.port)

`carlite_server` is a new server for one test, `carlite_session_server` one for all tests of a
session. `@pytest.mark.carlite(town="Town05", seed=3)` chooses for one test, the option
`--carlite-town` for the others. The report of a failed test ends with the server's log.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import pytest

from harness.carlite.background import BackgroundServer, start_background_server

FIXTURES = ("carlite_server", "carlite_session_server")
CHOICES = ("town", "maps", "seed", "options")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("carlite")
    group.addoption("--carlite-town", metavar="NAME", help="town of carlite's servers")
    group.addoption(
        "--carlite-maps", metavar="DIR", help="folder of further towns as NAME.xodr for carlite"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers", "carlite(town=None, maps=None, seed=0, options=()): the test's carlite_server"
    )


@pytest.fixture
def carlite_server(request: pytest.FixtureRequest) -> Iterator[BackgroundServer]:
    """A server that only this test uses."""
    marker = request.node.get_closest_marker("carlite")
    chosen: dict[str, Any] = dict(marker.kwargs) if marker else {}
    if unknown := set(chosen) - set(CHOICES):
        raise pytest.UsageError(
            f"mark.carlite: unknown {', '.join(sorted(unknown))}; valid: {', '.join(CHOICES)}"
        )
    with start_background_server(**(_read_defaults(request.config) | chosen)) as server:
        yield server


@pytest.fixture(scope="session")
def carlite_session_server(request: pytest.FixtureRequest) -> Iterator[BackgroundServer]:
    """A server that all tests share; with pytest-xdist, those of one worker."""
    with start_background_server(**_read_defaults(request.config)) as server:
        yield server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the log of a failed test's server to its report."""
    report = yield
    if report.failed:
        for name in FIXTURES:
            server = getattr(item, "funcargs", {}).get(name)
            if isinstance(server, BackgroundServer) and server.log_file.exists():
                ended = server.process.poll()
                state = "running" if ended is None else f"ended with exit code {ended}"
                report.sections.append((f"{name} ({state})", server.read_log() or "no lines"))
    return report


def _read_defaults(config: pytest.Config) -> dict[str, Any]:
    return {"town": config.getoption("carlite_town"), "maps": config.getoption("carlite_maps")}
