"""Brakes are arms; the simulator's have no name, and realistic ones hold what they are set to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analysis.drawing.svg import render_svg_file
from harness.campaign.settings.config import hash_settings
from harness.records.arms import Arm, make_arm_sort_key
from harness.records.reading import CampaignRecords
from harness.world.brakes import TyreGrip
from tests.campaign.tiny import assert_refused_in_one_line, composed, run, write_route
from tests.carlite.proving_ground import DT
from tests.docs.braking import (
    FIGURE,
    REALISTIC,
    compute_hardest,
    compute_regulation_distance,
    list_recorded_stops,
    list_stop_rows,
    render_braking_figure,
    simulate_stop,
)

DYNAMICS = FIGURE.parents[1] / "explanation" / "dynamics.md"
STICKING = 3
"""Ticks before standstill in which wheels that hardly move stick."""
GRAVITY = 9.81


def test_the_formula_of_the_regulation_agrees_with_its_published_values() -> None:
    # 70 m from 100 km/h, and 6.43 m/s² once the brakes act: decision 0106
    assert compute_regulation_distance(100.0) == pytest.approx(70.0)
    for kmh in (14.4, 28.8, 50.0, 100.0):
        way_of_braking = compute_regulation_distance(kmh) - 0.1 * kmh
        assert (kmh / 3.6) ** 2 / (2 * way_of_braking) == pytest.approx(6.43, abs=0.005)


def test_an_arm_does_not_name_the_brakes_of_the_simulator() -> None:
    plain = Arm.from_factors(system="late")
    assert plain == plain.replace_factors(brakes="default")
    braked = plain.replace_factors(brakes="realistic", driver="idm")
    assert str(braked) == "late/none/none/brakes=realistic/driver=idm"
    assert Arm.from_path(braked.path.parts) == Arm.parse_name(str(braked)) == braked
    linked = plain.replace_factors(link="carla")
    assert sorted([linked, plain], key=make_arm_sort_key) == [plain, linked]


def test_settings_without_other_brakes_do_not_name_the_group() -> None:
    words: tuple[tuple[str, ...], ...] = ((), ("brakes=default",), ("brakes=[default,realistic]",))
    plain, default, both = (composed(*some) for some in words)
    assert "brakes" not in plain
    assert hash_settings(plain) == hash_settings(default) != hash_settings(both)
    assert both["brakes"]["realistic"] is not None
    assert both["brakes"]["realistic"]["friction"] == REALISTIC


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["brakes=realistic", "brakes.realistic.friction=0"], r"friction = 0: must be > 0"),
        (["brakes=realistic", "brakes.realistic.friction=x"], r"friction"),
        (["+brakes.none={_target_: harness.world.brakes.TyreGrip}"], r"brakes\.none"),
        (["+brakes.x._target_=harness.world.rig.Rig"], r"only harness\.world\.brakes\.\*"),
    ],
)
def test_bad_brakes_are_one_line(settings: list[str], words: str) -> None:
    assert_refused_in_one_line(settings, words)


@pytest.mark.parametrize("speed", [4.0, 8.0, 13.9])
def test_realistic_tyres_hold_their_friction(speed: float) -> None:
    """Friction times weight is the limit until the wheels stick; CARLA's hold 24 m/s²."""
    free, short = simulate_stop(speed, None)
    speeds, long = simulate_stop(speed, TyreGrip(REALISTIC))
    braking = -np.diff(speeds)[:-STICKING] / DT
    assert braking.max() <= REALISTIC * GRAVITY * 1.02
    assert compute_hardest(free) > 20
    assert long > short
    # no shorter than if the tyres held from the first tick on
    assert long >= speed**2 / 2 / (REALISTIC * GRAVITY)


def test_the_page_has_the_numbers_of_the_records() -> None:
    stops = {name: speeds for name, _, speeds in list_recorded_stops()}
    speeds = stops["mkz2020-throttle-0.5"]
    first = int(np.flatnonzero(speeds < 6.1)[0])
    assert np.round(speeds[first : first + 7 : 2], 2).tolist() == [6.08, 3.71, 1.58, 0.0]
    hardest = [
        (-np.diff(speeds[speeds < 6]) / DT).max()
        for name, speeds in stops.items()
        if name.endswith(("0.5", "0.7", "0.8", "1.0"))
    ]
    assert all(25 < value < 27 for value in hardest)


def test_figure_and_table_are_made_again() -> None:
    assert FIGURE.read_text(encoding="utf-8") == render_svg_file(render_braking_figure())
    text = DYNAMICS.read_text(encoding="utf-8")
    assert all(f"| {' | '.join(row)} |" in text for row in list_stop_rows())


@pytest.mark.thorough
def test_both_brakes_are_driven_and_the_ego_stops_otherwise(tmp_path: Path) -> None:
    """A red light or a goal makes every drive brake: places differ by the tyres alone."""
    routes = write_route(tmp_path, "step")
    done = run(
        routes,
        "system=ideal_single",
        "interference=none",
        "routes.hazards=null",
        "brakes=[default,realistic]",
        f"out={tmp_path / 'out'}",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    places = CampaignRecords(tmp_path / "out").find_attempts()
    assert {key.arm["brakes"] for key in places} == {"default", "realistic"}
    tracks = {(place / "tracks.parquet").read_bytes() for place in places.values()}
    assert len(tracks) == 2
