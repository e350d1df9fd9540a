"""Machine code on disk: never out of date, and never missed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.carlite import compiled, folders
from tests.carlite.forked_scripts import RunningScript, ScriptServer

CALLEE = """
from harness.carlite.compiled import compiled
@compiled
def twice(x: float) -> float:
    return 2.0 * x
"""
CALLER = """
from harness.carlite.compiled import compiled
from harness.carlite.numbers import (
    OFFSET,
)
from harness.carlite import callee
from harness.carlite.callee import twice
@compiled
def answer(x: float) -> float:
    return twice(x) + OFFSET
"""
ASK = "from harness.carlite.caller import answer; print(answer(20.0), *answer.stats.cache_hits)"


class House:
    """A tiny house with a copy of the module under test, and a cache of its own."""

    def __init__(self, root: Path, forks: ScriptServer) -> None:
        self._forks = forks
        self.carlite = root / "harness" / "carlite"
        self.cache = root / "cache"
        self.kept = self.cache / "carlite" / "compiled"
        self.carlite.mkdir(parents=True)
        for package in (self.carlite.parent, self.carlite):
            (package / "__init__.py").touch()
        for module in (compiled, folders):
            shutil.copy(str(module.__file__), self.carlite)
        self.write("callee", CALLEE)
        self.write("caller", CALLER)
        self.write("numbers", "OFFSET = 2.0")
        self._environment = os.environ | {
            "XDG_CACHE_HOME": str(self.cache),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def write(self, module: str, text: str) -> None:
        (self.carlite / f"{module}.py").write_text(text)

    def start(self, script: str = ASK) -> RunningScript:
        """Start a script in a fork."""
        return self._forks.start(script, cwd=self.carlite.parent.parent, env=self._environment)

    def start_new(self, script: str = ASK) -> RunningScript:
        """Start a script in a new process."""
        return subprocess.Popen(
            [sys.executable, "-c", script],
            cwd=self.carlite.parent.parent,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(self) -> tuple[float, bool]:
        """Return the answer a fork gives, and whether it came from the disk."""
        return answer_of(self.start())

    def ask_new(self) -> tuple[float, bool]:
        """Return the answer a new process gives, which has another seed of hashes."""
        return answer_of(self.start_new())

    def entries(self) -> Iterator[Path]:
        return (path for path in self.kept.iterdir() if path.name.startswith("caller.answer-"))


def answer_of(process: RunningScript) -> tuple[float, bool]:
    answer, complaint = process.communicate(timeout=120)
    assert (process.returncode, complaint) == (0, "")
    value, *hits = answer.split()
    return float(value), bool(hits)


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptServer]:
    with ScriptServer(tmp_path_factory.mktemp("scripts")) as server:
        yield server


@pytest.fixture
def house(tmp_path: Path, forks: ScriptServer) -> House:
    return House(tmp_path, forks)


@pytest.mark.thorough
def test_a_change_in_another_file_is_seen(house: House) -> None:
    """Of a function that is called, and of a constant; what did not change is not compiled."""
    assert house.ask_new() == (42.0, False)
    assert house.ask_new() == (42.0, True)
    house.write("callee", CALLEE.replace("2.0 * x", "3.0 * x"))
    assert house.ask() == (62.0, False)
    house.write("numbers", "OFFSET = 3.0")
    assert house.ask() == (63.0, False)
    house.write("stranger", "OFFSET = 4.0")
    assert house.ask() == (63.0, True)


LISTEN = """
from harness.carlite import compiled
heard = []
compiled.add_compile_listener(lambda name, on_disk: heard.append((name.partition("(")[0], on_disk)))
"""


@pytest.mark.thorough
def test_what_is_needed_for_the_first_time_is_reported(house: House) -> None:
    for is_on_disk in (False, True):
        child = house.start(f"{LISTEN}{ASK}; print(*heard[0])")
        last = child.communicate(timeout=120)[0].splitlines()[-1]
        assert last == f"caller.answer {is_on_disk}"


@pytest.mark.thorough
def test_of_two_servers_that_start_at_once_one_compiles(house: House) -> None:
    """The other waits for its entries."""
    both = [house.start(), house.start()]
    assert sorted(answer_of(process) for process in both) == [(42.0, False), (42.0, True)]
    assert house.ask() == (42.0, True)
    assert len(list(house.kept.iterdir())) == 2


def test_a_lock_is_free_again_when_its_holder_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "entry.lock"
    held = compiled.wait_for_lock(path)
    assert held is not None
    other = os.open(path, os.O_RDWR)
    assert not compiled.take_lock(other)
    os.close(held)
    assert compiled.take_lock(other)
    os.close(other)


@pytest.mark.thorough
def test_what_only_kernels_call_gets_an_entry_point_when_python_calls_it(house: House) -> None:
    ask_both = (
        "from harness.carlite.caller import answer; from harness.carlite.callee import twice; "
        "print(answer(20.0) + twice(1.0), *twice.stats.cache_hits)"
    )
    house.ask()
    assert len(list(house.kept.iterdir())) == 2
    assert answer_of(house.start(ask_both)) == (44.0, False)
    assert len(list(house.kept.iterdir())) == 3
    assert answer_of(house.start(ask_both)) == (44.0, True)


CONSTANTS = """
from harness.carlite.compiled import compiled
from harness.carlite.callee import twice
@compiled
def answer(count: int) -> float:
    return twice(3) + twice(True) + twice(False) + twice(count)
"""


@pytest.mark.thorough
def test_constants_are_compiled_as_any_value_of_their_type(house: House) -> None:
    house.write("caller", CONSTANTS)
    script = "from harness.carlite.caller import answer, twice; print(answer(4), *twice.signatures)"
    words = house.start(script).communicate(timeout=120)[0].split(maxsplit=1)
    assert float(words[0]) == 16.0
    assert words[1].count("int64") == words[1].count("bool") == 1


@pytest.mark.thorough
def test_what_is_damaged_is_compiled_again(house: House) -> None:
    """And written again, to be loaded by the next process."""
    house.ask()
    (entry,) = house.entries()
    whole = entry.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]
    for damaged in (b"", whole[:middle], flipped):
        entry.write_bytes(damaged)
        assert house.ask() == (42.0, False)
        assert len(entry.read_bytes()) > middle
    assert house.ask() == (42.0, True)
    entry.unlink()
    entry.mkdir()
    assert house.ask() == (42.0, False)


@pytest.mark.thorough
def test_a_cache_that_cannot_be_written_is_not_missed(house: House) -> None:
    house.cache.write_text("in the way")
    assert house.ask() == (42.0, False)


@pytest.mark.thorough
def test_what_others_could_have_put_there_is_not_loaded(house: House) -> None:
    house.ask()
    assert house.ask() == (42.0, True)
    house.kept.parent.chmod(0o777)
    assert house.ask() == (42.0, False)


@pytest.mark.thorough
def test_a_full_disk_is_no_accident(house: House) -> None:
    small = (
        "import resource, sys; sys.dont_write_bytecode = True; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); "
    )
    assert answer_of(house.start(small + ASK)) == (42.0, False)
    assert list(house.kept.iterdir()) == []


@pytest.mark.thorough
def test_entries_not_loaded_for_long_are_removed(house: House) -> None:
    house.ask()
    (entry,) = house.entries()
    forgotten = time.time() - compiled.LONGEST_UNUSED - 60.0
    for path in house.kept.iterdir():
        os.utime(path, (forgotten, forgotten))
    assert house.ask() == (42.0, True)
    house.write("numbers", "OFFSET = 5.0")
    assert house.ask() == (45.0, False)
    assert entry.exists()
    os.utime(entry, (forgotten, forgotten))
    house.write("numbers", "OFFSET = 6.0")
    assert house.ask() == (46.0, False)
    assert not entry.exists()


def test_closures_are_refused() -> None:
    factor = float(len(CALLEE))

    def scaled(x: float) -> float:
        return factor * x

    with pytest.raises(TypeError, match="scaled"):
        compiled.compiled(scaled)


ALLOCATES = """
import numpy as np
from harness.carlite.compiled import {decorator}
@{decorator}
def made(x: float):
    return np.full(3, x){part}
"""
RETURNS = """
from harness.carlite.compiled import {decorator}
@{decorator}
def made(x):
    return x, x[1:]
"""
GETS = """
import numpy as np
from harness.carlite.compiled import allocating, {decorator}
@allocating
def zeros(count: int):
    return np.zeros(count)
@{decorator}
def made(count: int):
    return zeros(count).sum()
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "argument"),
    [
        (ALLOCATES.replace("{part}", ".sum()"), "2.0"),
        (RETURNS, "__import__('numpy').zeros(3)"),
        (GETS, "3"),
    ],
    ids=["makes", "returns", "gets"],
)
def test_only_allocating_functions_make_get_or_return_arrays(
    house: House, text: str, argument: str
) -> None:
    """References to arrays are counted in no other."""
    for decorator, code in (("allocating", 0), ("compiled", 1)):
        house.write("maker", text.replace("{decorator}", decorator))
        child = house.start(f"from harness.carlite.maker import made; made({argument})")
        complaint = child.communicate(timeout=120)[1]
        assert (child.returncode, complaint == "") == (code, code == 0), complaint
