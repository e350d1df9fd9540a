"""An agent that asks a served language model: recorded, played without it, and what fails."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.leaderboard.language_model import CALLS, LanguageModel
from agents.leaderboard.model_calls import decode_body, encode_body, hash_question, make_question
from agents.leaderboard.system import LeaderboardAgent
from harness.common.errors import AttemptError, UserError
from harness.types.vocabulary import SensorReading
from tests.campaign.tiny import write_route
from tests.leaderboard.model_server import serve_model
from tests.leaderboard.played import read_equal_calls
from tests.leaderboard.test_campaign import drive
from tests.leaderboard.test_parts import (
    PLACE,
    make_agent,
    make_observation,
    make_route,
    sense,
)

AGENTS = Path(__file__).parent
HERE = replace(PLACE, attempt="asking/none/none/way-s3")
STEPS = 21


def make_asking(model: LanguageModel) -> LeaderboardAgent:
    return make_agent(name="asking_agent.py", language_model=model)


def drive_steps(agent: LeaderboardAgent) -> list[tuple[float, float, float]]:
    agent.open_attempt(HERE, seed=3, route=make_route())
    controls = [agent.step(make_observation(tick, sense()), ()).control for tick in range(STEPS)]
    agent.close_attempt()
    return [(control.throttle, control.steer, control.brake) for control in controls]


def ask_until_lost(agent: LeaderboardAgent, readings: tuple[SensorReading, ...]) -> None:
    for tick in range(0, 50, 10):
        agent.step(make_observation(tick, readings), ())


def test_recorded_answers_are_played_without_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_model() as server:
        # its own configuration has another name of the same address
        url = server.url
        monkeypatch.setenv("ASKING_AGENT_URL", url.replace("127.0.0.1", "localhost"))
        first = make_asking(LanguageModel(url=url, record=str(tmp_path)))
        driven = drive_steps(first)
        assert len(server.asked) == 3
        assert set(server.keys) == {"Bearer secret"}
    # three times the same question, with three answers
    file = tmp_path / HERE.attempt / CALLS
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["frame"] for line in lines] == [-1, 0, 10, 20]
    assert len({line["digest"] for line in lines[1:]}) == 1
    assert [json.loads(line["answer"])["id"] for line in lines[1:]] == [
        "chat-1",
        "chat-2",
        "chat-3",
    ]
    assert "I drive at 2.00 m/s" in lines[1]["question"]
    assert "secret" not in file.read_text()
    record = first.make_attempt_record()["language_model"]["calls"]
    assert [call[0] for call in record] == [-1, 0, 10, 20]
    assert record[1][1] == lines[1]["digest"][:16]
    assert len(first.make_timing_record()["language_model"]) == 4

    # nothing listens there any more
    model = LanguageModel(url=url, replay=str(tmp_path))
    assert model.list_files() == [file]
    again = make_asking(model)
    assert drive_steps(again) == driven
    assert again.make_attempt_record() == first.make_attempt_record()

    # another question, and one time too often: an agent that asks for ever is stopped
    other = tuple(
        replace(reading, values=reading.values + 1.0) if reading.name == "speed" else reading
        for reading in sense()
    )
    for readings, words in ((other, "recorded 0 times"), (sense(), "recorded 3 times")):
        lost = make_asking(model)
        lost.open_attempt(HERE, seed=3, route=make_route())
        with pytest.raises(AttemptError, match=words) as problem:
            ask_until_lost(lost, readings)
        assert problem.value.failure == "agent_exception"
        assert "no recorded answer to POST /v1/chat/completions" in str(problem.value)


def test_a_model_that_is_late_or_absent_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_model(delay=20.0) as server:
        monkeypatch.setenv("ASKING_AGENT_URL", server.url)
        late = make_asking(LanguageModel(url=server.url, timeout=0.5))
        late.open_attempt(HERE, seed=3, route=make_route())
        with pytest.raises(AttemptError, match=r"no answer within 0\.5 s") as problem:
            late.step(make_observation(0, sense()), ())
        assert problem.value.failure == "agent_exception"
    absent = make_asking(LanguageModel(url=server.url))
    with pytest.raises(AttemptError, match=r"cannot be asked: .*refused") as problem:
        absent.open_attempt(HERE, seed=3, route=make_route())
    assert problem.value.failure == "agent_setup"


def test_another_attempt_and_a_changed_record_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_model() as server:
        monkeypatch.setenv("ASKING_AGENT_URL", server.url)
        drive_steps(make_asking(LanguageModel(url=server.url, record=str(tmp_path))))
    played = make_asking(LanguageModel(url=server.url, replay=str(tmp_path)))
    other = replace(HERE, attempt="asking/none/blur/way-s3")
    with pytest.raises(AttemptError, match="nothing is recorded of this attempt"):
        played.open_attempt(other, seed=3, route=make_route())
    file = tmp_path / HERE.attempt / CALLS
    file.write_text(file.read_text().replace("chat-2", "chat-9"))
    with pytest.raises(AttemptError, match="differs from its digest") as problem:
        played.open_attempt(HERE, seed=3, route=make_route())
    assert problem.value.failure == "agent_setup"
    file.write_text("[]\n")
    with pytest.raises(AttemptError, match="cannot be read as recorded calls"):
        played.open_attempt(HERE, seed=3, route=make_route())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"record": "a"}, "name the url"),
        ({"url": "http://h/v1", "record": "a", "replay": "."}, "exclude each other"),
        ({"url": "127.0.0.1:8000"}, "no address such as"),
        ({"url": ["http://h/v1", "ftp://h"]}, "ftp://h is no address"),
        ({"url": "http://h:99999/v1"}, "no address"),
        ({"url": "http://h/v1", "timeout": 0.0}, "must be > 0"),
        ({"url": "http://h/v1", "replay": "nowhere"}, "replay: nowhere: folder not found"),
    ],
)
def test_settings_that_do_not_go_together_are_one_line(settings: Any, words: str) -> None:
    with pytest.raises(UserError, match=words):
        LanguageModel(**settings)


def test_folders_of_records_are_looked_at_before_a_campaign(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cases = {
        "record": (("file", "is a file; a folder is needed"),),
        "replay": (
            ("nowhere", "folder not found"),
            ("file", "is a file; a folder is needed"),
            ("", "has no calls.jsonl"),
        ),
    }
    for name, folders in cases.items():
        for folder, why in folders:
            place = tmp_path / folder
            model = {"url": "http://h/v1", name: str(place)}
            with pytest.raises(UserError) as problem:
                LeaderboardAgent.files(
                    str(AGENTS), "asking_agent.py", python=sys.executable, language_model=model
                )
            assert str(problem.value) == f"system: language_model.{name}: {place}: {why}"
    # a folder to write to need not be there
    model = {"url": "http://h/v1", "record": str(tmp_path / "new" / "answers")}
    assert LeaderboardAgent.files(
        str(AGENTS), "asking_agent.py", python=sys.executable, language_model=model
    )


@pytest.mark.parametrize("body", [b"", b"{}", "ä".encode(), b"\xff\xd8", b"base64:AA=="])
def test_bodies_are_kept_as_they_are(body: bytes) -> None:
    assert decode_body(encode_body(body)) == body


def test_a_question_is_the_same_in_any_order_of_keys() -> None:
    first, second, other = (
        hash_question(0, make_question("POST", "/v1", body))
        for body in (b'{"a": 1, "b": 2}', b'{"b":2,"a":1}', b'{"a": 1, "b": 3}')
    )
    assert first == second != other
    assert hash_question(1, make_question("POST", "/v1", b'{"b":2,"a":1}')) != first


@pytest.mark.thorough
def test_a_campaign_repeats_byte_for_byte_without_the_model(tmp_path: Path) -> None:
    routes, kept = write_route(tmp_path, "step"), tmp_path / "kept"
    agent, model = "system.leaderboard_agent", "system.leaderboard_agent.language_model"
    with serve_model() as server:
        words = [f"{agent}.agent=asking_agent.py", f"{model}.url={server.url}"]
        recorded = drive(
            routes,
            tmp_path / "first",
            "none",
            more=[*words, f"{model}.record={kept}"],
            ASKING_AGENT_URL=server.url,
        )
        assert recorded.returncode == 0, recorded.stdout + recorded.stderr
        asked = len(server.asked)
        assert asked > 3
    played = drive(
        routes,
        tmp_path / "second",
        "none",
        more=[*words, f"{model}.replay={kept}"],
        ASKING_AGENT_URL=server.url,
    )
    assert played.returncode == 0, played.stdout + played.stderr
    calls = read_equal_calls(tmp_path / "first", tmp_path / "second")
    assert len(calls) == asked + 1
    (file,) = (tmp_path / "second").rglob("timing.json")
    timing = json.loads(file.read_text())
    assert len(timing["language_model"]) == asked + 1
