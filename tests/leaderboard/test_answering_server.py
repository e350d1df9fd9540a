"""A server that answers by a rule, and an agent in CoLMDriver's form that asks it in both roles."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agents.leaderboard.language_model import CALLS, LanguageModel
from agents.leaderboard.system import LeaderboardAgent
from harness.common.errors import AttemptError
from harness.types.agent_sensors import SensorRequest
from harness.types.vocabulary import SensorReading
from tests.campaign.tiny import write_route
from tests.conftest import ROOT
from tests.leaderboard.played import read_equal_calls
from tests.leaderboard.test_campaign import drive
from tests.leaderboard.test_parts import PLACE, make_agent, make_observation, make_route
from tools.guests.answering_server import GOES, YIELDS, answer_question, open_server

HERE = replace(PLACE, attempt="negotiating/none/none/way-s3")
TOOL = ROOT / "tools" / "guests" / "answering_server.py"
PLAN = (
    "{seen}Communication suggestion: {said}\nCurrent Speed: {speed} m/s\n"
    "Provide the speed intention"
)
SPEAK = "- Vehicle (ID: {other}): 9 meters\nYou are Vehicle {ego}, the message you want"
STEPS = 12


@contextmanager
def serve_roles(count: int = 2) -> Iterator[list[str]]:
    """Serve at that many addresses until the block ends."""
    servers = [open_server(0) for _ in range(count)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield [f"http://127.0.0.1:{server.server_address[1]}/v1" for server in servers]
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


@pytest.mark.parametrize(
    ("seen", "said", "speed", "answer"),
    [
        ("", "No interaction now", "2.00", "FASTER"),
        ("", "No interaction now", "6.50", "KEEP"),
        ("", "SLOWER", "2.00", "SLOWER"),
        (
            "Car 1, 7 meters forward and 2 meters to the left;\n",
            "No interaction now",
            "2.00",
            "STOP",
        ),
        (
            "Bike 1, 9 meters forward and 1 meters to the left;\n",
            "No interaction now",
            "2.0",
            "SLOWER",
        ),
        (
            "Car 1, 7 meters forward and 3 meters to the right;\n",
            "No interaction now",
            "2",
            "FASTER",
        ),
        (
            "Car 1, 7 meters backward and 0 meters to the left;\n",
            "No interaction now",
            "2",
            "FASTER",
        ),
    ],
)
def test_the_planner_is_given_a_speed(seen: str, said: str, speed: str, answer: str) -> None:
    assert answer_question(PLAN.format(seen=seen, said=said, speed=speed)) == answer


def test_the_vehicle_with_the_lowest_number_goes_and_the_critic_agrees() -> None:
    said = []
    for ego, other, message in ((2, 4, GOES), (4, 2, YIELDS)):
        assert answer_question(SPEAK.format(ego=ego, other=other)) == message
        said.append(f"- Vehicle {ego}: '{message}'")
    lines = "\n".join(said)
    sums = answer_question(
        f'classify each vehicle\'s speed change {{"0": …}} Input proposal:\n{lines}\nDone.'
    )
    assert json.loads(sums) == {"2": {"speed": "FASTER"}, "4": {"speed": "STOP"}}
    score = "Criteria … Conversation:\n{}\nConsensus score: int"
    assert answer_question(score.format(lines)).endswith("Consensus score: 100")
    both = lines.replace(YIELDS, GOES)
    assert answer_question(score.format(both)).endswith("Consensus score: 20")
    assert answer_question("How are you?") == "I know no answer to this."


def test_what_is_no_conversation_is_refused() -> None:
    with serve_roles(count=1) as (url,):
        for path, body, status in (
            ("/chat/completions", b"[]", 400),
            ("/chat/completions", b"no JSON", 400),
            ("/chat/completions", b'{"messages": [{"content": ["no part"]}]}', 400),
            ("/chat/completions", b"[" * 100_000, 400),
            ("/embeddings", None, 404),
        ):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(url + path, body)
            assert refused.value.code == status


@pytest.mark.parametrize("length", ["-1", "many"])
def test_a_length_that_is_none_is_answered(length: str) -> None:
    with serve_roles(count=1) as (url,):
        host = url.removeprefix("http://").removesuffix("/v1")
        connection = http.client.HTTPConnection(host, timeout=30)
        connection.putrequest("POST", "/v1/chat/completions")
        connection.putheader("Content-Length", length)
        connection.endheaders()
        assert connection.getresponse().status == 400
        connection.close()


def test_a_port_that_is_taken_or_is_none_is_one_line() -> None:
    server = open_server(0)
    taken = str(server.server_address[1])
    in_use = f"port {taken}: Address already in use\n"
    for port, said in ((taken, in_use), ("65536", "must be"), ("x", "invalid int value: 'x'")):
        words = [sys.executable, str(TOOL), "--ports", port]
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1
    server.server_close()


def sense(asked: list[SensorRequest], number: int) -> tuple[SensorReading, ...]:
    """Return a grey picture and a speed, both of this number."""
    values = {
        "sensor.camera.rgb": np.full((16, 32, 4), number, np.uint8),
        "sensor.speedometer": np.array([float(number)]),
    }
    return tuple(
        SensorReading(name=one.name, kind=one.kind, values=values[one.kind]) for one in asked
    )


def drive_steps(agent: LeaderboardAgent) -> list[float]:
    """Return the throttle of each step of a drive that grows faster."""
    asked = agent.open_attempt(HERE, seed=3, route=make_route())
    throttles = [
        agent.step(make_observation(tick, sense(asked, tick)), ()).control.throttle
        for tick in range(STEPS)
    ]
    agent.close_attempt()
    return throttles


def test_both_roles_are_recorded_and_played_without_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "negotiating_agent.py"
    with serve_roles() as urls:
        monkeypatch.setenv("NEGOTIATING_AGENT_URLS", " ".join(urls))
        first = make_agent(name=name, language_model=LanguageModel(url=urls, record=str(tmp_path)))
        driven = drive_steps(first)
    # what was agreed on, what the planner chose alone at 4 m/s, what was agreed on again
    assert driven == pytest.approx([0.6] * STEPS)
    lines = [
        json.loads(line) for line in (tmp_path / HERE.attempt / CALLS).read_text().splitlines()
    ]
    counts: dict[tuple[int, int], int] = {}
    for line in lines:
        key = (line["frame"], line["server"])
        counts[key] = counts.get(key, 0) + 1
    # models while it is set up; four questions of a negotiation; one of the planner
    asked = {(-1, 0): 1, (-1, 1): 2, (0, 0): 1, (0, 1): 4, (4, 0): 1, (8, 0): 1, (8, 1): 4}
    assert counts == asked
    assert sum("data:image/jpeg;base64," in line["question"] for line in lines) == 3

    again = make_agent(name=name, language_model=LanguageModel(url=urls, replay=str(tmp_path)))
    assert drive_steps(again) == driven
    assert again.make_attempt_record() == first.make_attempt_record()

    # a picture that was not recorded has no answer
    lost = make_agent(name=name, language_model=LanguageModel(url=urls, replay=str(tmp_path)))
    sensors = lost.open_attempt(HERE, seed=3, route=make_route())
    with pytest.raises(AttemptError, match="no recorded answer to POST /v1/chat/completions"):
        lost.step(make_observation(0, sense(sensors, 99)), ())


@pytest.mark.thorough
def test_a_campaign_of_both_roles_repeats_byte_for_byte(tmp_path: Path) -> None:
    routes, kept = write_route(tmp_path, "step"), tmp_path / "kept"
    agent, model = "system.leaderboard_agent", "system.leaderboard_agent.language_model"
    words = [f"{agent}.agent=negotiating_agent.py"]
    for_time = ["driving.timeout_seconds_per_metre=0.1", "driving.timeout_extra_seconds=0"]
    with serve_roles() as urls:
        words += [f"{model}.url=[{','.join(urls)}]", *for_time]
        variables = {"NEGOTIATING_AGENT_URLS": " ".join(urls)}
        recorded = drive(
            routes,
            tmp_path / "first",
            "none",
            more=[*words, f"{model}.record={kept}"],
            **variables,
        )
        assert recorded.returncode == 0, recorded.stdout + recorded.stderr
    played = drive(
        routes, tmp_path / "second", "none", more=[*words, f"{model}.replay={kept}"], **variables
    )
    assert played.returncode == 0, played.stdout + played.stderr
    calls = read_equal_calls(tmp_path / "first", tmp_path / "second")
    assert len(calls) > 20
