"""A running carlite for tests, and the real CARLA client connected to it."""

from __future__ import annotations

import gc
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, ClassVar

import carla
import msgpack
import pytest
from hypothesis import HealthCheck, settings

from tests.dying import Again
from tests.kept_prints import keep_prints
from tests.left_out import LeftOutTests
from tests.rewriting import keep_rewritten_tests

# On a busy machine an example takes as long as it takes. `make test-all` asks for `many`.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("many", UNHURRIED, max_examples=100)
settings.register_profile("few", UNHURRIED, max_examples=25)
settings.load_profile("few")

ROOT = Path(__file__).parent.parent
PATIENCE = 60.0
"""Seconds that a test waits for what takes a moment on an idle machine; it may be a busy one."""
READY = re.compile(r"carlite (\S+) ready on (\S+):(\d+), town (\S+)\n")


class Carlite:
    """A server in a process of its own, on free ports, for as long as the `with` block lasts."""

    running: ClassVar[list[Carlite]] = []

    def __init__(self, *options: str) -> None:
        self.options = options
        self.host = ""
        self.port = 0
        self.town = ""

    def __enter__(self) -> Carlite:
        self._log: IO[str] = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness.carlite", "--port", "0", *self.options],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        Carlite.running.append(self)
        assert self.process.stdout
        ready = READY.fullmatch(self.process.stdout.readline())
        if ready is None:
            log = self.log()
            self.__exit__(None, None, None)
            raise RuntimeError(f"carlite did not start:\n{log}")
        self.host, self.port, self.town = ready[2], int(ready[3]), ready[4]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        Carlite.running.remove(self)
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            assert self.process.stdout
            self.process.stdout.close()
            self._log.close()

    def log(self) -> str:
        """Return what the server has said on stderr."""
        return Path(f"/proc/self/fd/{self._log.fileno()}").read_text()

    def begin_episode(self) -> None:
        """Start a fresh episode in the first town before any client looks.

        The client library now and then crashes when the episode changes under it.
        """
        with socket.create_connection((self.host, self.port), PATIENCE) as connection:
            request = [0, 1, "load_new_episode", [[False], self.town, True, 0xFFFF]]
            connection.sendall(msgpack.packb(request))
            reply = msgpack.unpackb(connection.recv(4096))
        assert reply == [1, 1, None, [[False]]]

    def client(self, timeout: float = PATIENCE) -> carla.Client:
        """Connect the real client."""
        socket.create_connection((self.host, self.port), timeout).close()
        client = carla.Client(self.host, self.port)
        client.set_timeout(timeout)
        return client

    def fresh_client(self) -> carla.Client:
        """Connect the real client in a fresh episode with CARLA's own settings."""
        self.begin_episode()
        return self.client()


def synchronous(client: carla.Client) -> carla.World:
    """Take the client's world in synchronous mode, 50 ms a tick."""
    world = client.get_world()
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
    return world


@pytest.fixture(scope="session")
def carlite() -> Iterator[Carlite]:
    """Share one server among the tests of a session; none may make it compile anything."""
    with Carlite() as server:
        yield server
        assert "in mid-session" not in server.log()


@pytest.fixture
def client(carlite: Carlite) -> carla.Client:
    """Connect to the shared server, in a fresh episode with CARLA's own settings."""
    return carlite.fresh_client()


@pytest.fixture
def world(client: carla.Client) -> carla.World:
    """Take the fresh episode in synchronous mode, 50 ms a tick."""
    return synchronous(client)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: a worker waits for others a fifth of its time."""
    return (os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    """Run tests whose worker died once more; name what is left out; write to no home."""
    keep_rewritten_tests(config, ROOT / "tests")
    os.environ["CRUCIBLE_CACHE"] = f"{os.devnull}/crucible"
    config.pluginmanager.register(Again(), "again")
    config.pluginmanager.register(LeftOutTests(config.option.markexpr), "left_out")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while modules are imported, nor in them afterwards: decision 0093."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the servers' logs below a failure."""
    report = yield
    if report.failed:
        for server in Carlite.running:
            if log := server.log():
                report.sections.append((f"carlite on port {server.port}", log[-5000:]))
    return report


@pytest.fixture
def prints_fit() -> Iterator[None]:
    """Assert of a test that what it prints in this process fits terminals of four widths."""
    with keep_prints() as prints:
        yield
    prints.check_widths(least=3)
