"""One agent of V2Xverse's form steers all driven egos of a scenario."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agents.leaderboard.language_model import CALLS, LanguageModel
from agents.leaderboard.system import LeaderboardAgent
from harness.campaign.planning.plan import plan_campaign
from harness.common.errors import AttemptError, UserError
from harness.types.agent_sensors import FurtherEgo, SteersAll
from tests.campaign.egos import TOWN, find_try, run, write_scenario
from tests.campaign.test_mixed_egos import assign, settle
from tests.campaign.test_several_egos import NORTH, WEST
from tests.campaign.tiny import composed, controls, files
from tests.leaderboard.test_answering_server import HERE, STEPS, sense, serve_roles
from tests.leaderboard.test_parts import PLACE, make_agent, make_observation, make_route

FOLDER = Path(__file__).parent
AGENT = "system.leaderboard_agent"


def list_settings(checkout: Path, name: str) -> list[str]:
    return [
        *("routes=interdrive", f"routes.checkout={checkout}", f"routes.source.town={TOWN}"),
        *("routes.source.driven=all", "system=leaderboard_agent", "interference=[none]"),
        *(f"{AGENT}.root={FOLDER}", f"{AGENT}.agent={name}", f"{AGENT}.python={sys.executable}"),
    ]


def test_only_what_steers_all_egos_is_planned_with_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = write_scenario(tmp_path, "r3_a_ins_c", WEST, NORTH)
    settings = list_settings(checkout, "negotiating_agent.py")
    assert len(plan_campaign(composed(*settings)).attempts) == 1
    fleet = assign(tmp_path, {"ego-1": "m2"}, m2="ideal_late")
    with pytest.raises(
        UserError, match="brings its own sensors, and partners carry those of the rig"
    ):
        plan_campaign(settle(*settings, "cooperation=egos", *fleet))
    # a system with its own sensors that is made for one ego
    monkeypatch.setattr(LeaderboardAgent, "steers_all", False)
    with pytest.raises(UserError, match="leaderboard_agent brings its own sensors, for one"):
        plan_campaign(composed(*settings))


def test_one_agent_steers_two_egos_until_one_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    route = make_route()
    two = replace(HERE, further=(FurtherEgo(ego_id=8, route=route),))
    with serve_roles() as urls:
        monkeypatch.setenv("NEGOTIATING_AGENT_URLS", " ".join(urls))
        model = LanguageModel(url=urls, record=str(tmp_path))
        first = make_agent(name="negotiating_agent.py", language_model=model)
        second = first.join_ego(1)
        asked = first.open_attempt(two, seed=3, route=route)
        assert second.open_attempt(two, seed=3, route=route) == asked
        throttles = []
        for tick in range(2 * STEPS):
            # the first ego drives half of the way
            driving: list[SteersAll] = [first, second] if tick < STEPS else [second]
            for number, ego in enumerate(driving, start=2 - len(driving)):
                ego.take_readings(100 + tick, sense(asked, 10 * number + tick))
            observed = make_observation(tick)
            throttles.append([ego.step(observed, ()).control.throttle for ego in driving])
        first.close_attempt()
    # the first goes and the second yields; then each by its speed, the second at 14 m/s
    assert throttles[0] == pytest.approx([0.6, 0.0])
    assert throttles[4] == pytest.approx([0.6, 0.4])
    assert throttles[STEPS] == pytest.approx([0.4])
    lines = [
        json.loads(line) for line in (tmp_path / HERE.attempt / CALLS).read_text().splitlines()
    ]
    planned = [line["frame"] for line in lines if "image_url" in line["question"]]
    assert planned == [0, 0, 4, 4, 8, 8, 12, 16, 20]


def test_an_agent_that_steers_one_ego_is_refused_with_two() -> None:
    route = make_route()
    two = replace(PLACE, further=(FurtherEgo(ego_id=8, route=route),))
    with pytest.raises(AttemptError, match="LittleAgent steers one ego: its setup takes no"):
        make_agent().open_attempt(two, seed=3, route=route)


@pytest.mark.thorough
def test_two_egos_of_one_agent_repeat_byte_for_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = write_scenario(tmp_path, "r3_a_ins_c", WEST, NORTH)
    agent = "system.leaderboard_agent"
    with serve_roles() as urls:
        monkeypatch.setenv("NEGOTIATING_AGENT_URLS", " ".join(urls))
        words = [
            *("system=leaderboard_agent", "driving.timeout_extra_seconds=0"),
            *("driving.timeout_seconds_per_metre=0.02", f"{agent}.agent=negotiating_agent.py"),
            *(f"{agent}.root={Path(__file__).parent}", f"{agent}.python={sys.executable}"),
            f"{agent}.language_model.url=[{','.join(urls)}]",
        ]
        kept = f"{agent}.language_model.record={tmp_path / 'kept'}"
        recorded = run(checkout, tmp_path / "first", *words, kept)
        assert recorded.returncode == 0, recorded.stdout + recorded.stderr
    kept = f"{agent}.language_model.replay={tmp_path / 'kept'}"
    played = run(checkout, tmp_path / "second", *words, kept)
    assert played.returncode == 0, played.stdout + played.stderr
    same = [path for path in files(tmp_path / "first") if path.name != "timing.json"]
    assert sum("egos" in path.parts for path in same) > 5
    for path in same:
        once, again = tmp_path / "first" / path, tmp_path / "second" / path
        assert once.read_bytes() == again.read_bytes(), path
    place = find_try(tmp_path / "second")
    # what was agreed on at once: the first goes and the second yields
    first, second = (controls(folder).throttle for folder in (place, place / "egos" / "1"))
    assert first.iloc[0] == pytest.approx(0.6)
    assert second.iloc[0] == 0.0
    assert second.max() == pytest.approx(0.6)
