"""Each failure of an agent is one line with a file and a line of the user's own checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.common.errors import AttemptError, UserError
from tests.leaderboard.test_parts import PLACE, make_agent, make_observation, make_route
from tests.world.little_checkout import write

HEAD = """
import json
import numpy as np
import carla
class Agent:
    def __init__(self, host, port, debug=False): pass
    def setup(self, config): {setup}
    def sensors(self): {sensors}
    def set_global_plan(self, gps, world): pass
    def run_step(self, data, timestamp):
        {step}
def get_entry_point(): return "Agent"
"""
FINE = {"setup": "pass", "sensors": "return []", "step": "return carla.VehicleControl()"}
SETUP, SENSORS, CLASS, STEP, INSIDE = (f"code/agent.py:{line}" for line in (7, 8, 5, 10, 11))


def write_checkout(folder: Path, **parts: str) -> Path:
    """Write an agent with a helper and an installed package in its checkout."""
    write(folder / "code" / "agent.py", HEAD.format(**{**FINE, **parts}))
    write(folder / "code" / "helper.py", "def help(what):\n    return 1 / what\n")
    write(folder / "code" / "broken.py", "x = 1\ndef f(:\n")
    write(folder / "code" / "site-packages" / "installed.py", "def fail(): raise OSError('full')")
    return folder


def check_failure(problem: AttemptError, failure: str, said: str, where: str) -> None:
    """Check that an attempt failed so, in one line that ends with a place."""
    line = str(problem)
    assert problem.failure == failure
    assert said in line
    assert line.endswith(f" ({where})")
    assert "\n" not in line


@pytest.mark.parametrize(
    ("parts", "said", "where"),
    [
        ({"setup": "raise ValueError('no\\n weights')"}, "ValueError: no weights", SETUP),
        ({"setup": "json.loads('{')"}, "JSONDecodeError: ", SETUP),  # raised in Python's library
        ({"setup": "np.zeros(3).reshape(2)"}, "ValueError: cannot reshape", SETUP),
        ({"setup": "import helper; helper.help(0)"}, "ZeroDivision", "code/helper.py:2"),
        ({"setup": "import broken"}, "SyntaxError: ", "code/broken.py:2"),
        ({"setup": "import no_such_package"}, "ModuleNotFoundError: ", SETUP),
        ({"setup": "raise SystemExit(3)"}, "SystemExit: 3", SETUP),
        ({"setup": "carla.Client('localhost', 2000)"}, "leaderboard_agent_privileged", SETUP),
        ({"sensors": "return None"}, "TypeError: ", SENSORS),
        ({"sensors": "return [3]"}, "AttributeError: ", SENSORS),
        ({"sensors": "return [{'type': 'sensor.sonar', 'id': 's'}]"}, "sensor.sonar", SENSORS),
        ({"step": "return\n    run_step = None"}, "TypeError: Agent has no run_step", CLASS),
    ],
)  # fmt: skip
def test_a_failure_before_the_drive_names_the_line(
    tmp_path: Path, parts: dict[str, str], said: str, where: str
) -> None:
    agent = make_agent(write_checkout(tmp_path, **parts), "code/agent.py")
    with pytest.raises(AttemptError) as problem:
        agent.open_attempt(PLACE, seed=3, route=make_route())
    check_failure(problem.value, "agent_setup", said, where)


@pytest.mark.parametrize(
    ("step", "said", "where"),
    [
        ("raise RuntimeError('lost')", "RuntimeError: lost", INSIDE),
        ("return None", "run_step returned NoneType, not a VehicleControl", STEP),
        ("return type('C', (), {'throttle': 'a', 'steer': 0, 'brake': 0})", "could not", STEP),
        ("import helper; helper.help(0)", "ZeroDivisionError: ", "code/helper.py:2"),
        ("import sys; sys.path.append('code/site-packages')\n"
         "        import installed; installed.fail()", "OSError: full", "code/agent.py:12"),
    ],
)  # fmt: skip
def test_a_failure_of_a_step_names_the_line(
    tmp_path: Path, step: str, said: str, where: str
) -> None:
    agent = make_agent(write_checkout(tmp_path, step=step), "code/agent.py")
    agent.open_attempt(PLACE, seed=3, route=make_route())
    with pytest.raises(AttemptError) as problem:
        agent.step(make_observation(0), ())
    check_failure(problem.value, "agent_exception", said, where)


@pytest.mark.parametrize(
    ("text", "said", "where"),
    [
        ("\nimport no_such_package", "No module named 'no_such_package'", "code/agent.py:2"),
        ("import broken", "SyntaxError: ", "code/broken.py:2"),
        ("from other import *", "agent.py has no get_entry_point", "code/agent.py"),
    ],
)
def test_a_failure_of_the_import_names_the_line(
    tmp_path: Path, text: str, said: str, where: str
) -> None:
    write_checkout(tmp_path)
    write(tmp_path / "other.py", "")
    more = "" if "get_entry_point" in said else "\ndef get_entry_point(): return 'A'.upper()"
    write(tmp_path / "code" / "agent.py", text + more)
    with pytest.raises(UserError) as problem:
        make_agent(tmp_path, "code/agent.py")
    line = str(problem.value)
    assert said in line
    assert line.endswith(f" ({where})")
    assert "\n" not in line


def test_a_file_outside_the_checkout_is_named_whole(tmp_path: Path) -> None:
    checkout, outside = tmp_path / "checkout", tmp_path / "mine" / "agent.py"
    write(checkout / "README", "")
    write(outside, HEAD.format(**{**FINE, "setup": "raise ValueError('no weights')"}))
    agent = make_agent(checkout, str(outside))
    with pytest.raises(AttemptError, match="no weights") as problem:
        agent.open_attempt(PLACE, seed=3, route=make_route())
    assert str(problem.value).endswith(f" ({outside.resolve()}:7)")
