"""Sweeps: from sizes on the command line to conditions, each delivery driven once."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from crucible.run import insert_none_condition
from harness.campaign.planning.plan import CampaignPlan, plan_campaign
from harness.campaign.planning.sizes import compute_late_steps, select_driven_conditions
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.printing import tables, terminal
from harness.campaign.settings.config import build_part
from harness.campaign.settings.sweeps import SIZES, SWEPT, with_sweeps
from harness.channel.disturbance import PARTNERS
from harness.channel.interference.latency import Fixed, Uniform
from harness.channel.interference.loss import Loss
from harness.channel.interference.pose_error import Fixed as FixedPoseError
from harness.checks.sweep_disturbance import make_raw_sweep
from harness.common.errors import UserError
from harness.records.arms import Arm
from harness.types.vocabulary import Features, Kind, Payload, Perceived, Points
from tests.campaign.tiny import composed, write_route
from tests.channel.episode import (
    PERIOD,
    Episode,
    observation,
    some_boxes,
    some_features,
    some_points,
)
from tests.conftest import ROOT

NAMES: tuple[tuple[str, Kind], ...] = (("roadside-0", "roadside"), ("vehicle-1", "vehicle"))
MIDDLE = {
    "bandwidth": 750_000,
    "ghosts": 2,
    "stray_points": 50,
    "latency": 0.35,
    "stray_returns": 50,
    "fog": 50.0,
}
"""A size of every disturbance; others take a share or metres."""
DELAYS = st.one_of(
    st.integers(1, 1000).map(lambda milliseconds: milliseconds / 1000),
    st.floats(1e-5, 1.0),
)
KINDS = st.sampled_from([("roadside",), ("vehicle",), PARTNERS])


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_route(tmp_path_factory.mktemp("routes"))


def planned(routes: Path, *settings: str) -> CampaignPlan:
    files = (f"routes.file={routes / 'routes.xml'}", "routes.hazards=null", "routes.only=null")
    chosen = composed(*files, "system=ideal_late", "interference=none", *settings)
    refuse_misshapen(chosen)
    return plan_campaign(chosen)


def conditions(made: CampaignPlan) -> list[str]:
    return [key.arm.condition for key in made.attempts]


def test_sizes_are_conditions_next_to_none(routes: Path) -> None:
    made = planned(routes, "sweep.latency=[0,0.1,0.2,0.5,1]", "sweep.loss=[0,0.25,1.0]")
    late = ["latency=0.2", "latency=0.5", "latency=1"]
    assert conditions(made) == ["none", *late, "loss=0.25", "loss=1"]
    assert made.size_zero == ("latency=0", "loss=0")
    assert made.same == (("latency=0.2", "latency=0.1"),)
    for key in made.attempts:
        assert Arm.parse_name(str(key.arm)) == Arm.from_path(key.arm.path.parts) == key.arm
        assert str(key.arm.path).isascii()


@pytest.mark.thorough
def test_settings_hold_the_conditions_and_no_sweep() -> None:
    settings = composed("interference=none", "sweep.latency=[0.5]", "sweep.burst_loss=[0.3]")
    assert "sweep" not in settings
    assert settings["interference"] == {
        "none": [],
        "latency=0.5": [{"_target_": "harness.channel.interference.latency.Fixed", "seconds": 0.5}],
        "burst_loss=0.3": [
            {
                "_target_": "harness.channel.interference.loss.BurstLoss",
                "worsens": 0.06,
                "recovers": 0.14,
            }
        ],
    }
    assert composed("sweep.latency=null") == composed()


def test_the_plan_says_what_delivers_the_same(
    routes: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = io.StringIO()
    for module in (terminal, tables):
        monkeypatch.setattr(module, "console", Console(file=out, width=120))
    tables.show_plan(planned(routes, "sweep.latency=[0,0.1,0.2]"), tmp_path)
    printed = " ".join(out.getvalue().split())
    assert "same latency=0.1: delivers what latency=0.2 does, which is driven" in printed
    assert "size 0 latency=0: as none" in printed


@given(DELAYS, DELAYS, KINDS, KINDS, st.lists(st.booleans(), min_size=14, max_size=14))
@example(0.1, 0.2, PARTNERS, PARTNERS, [True] * 14)
@example(0.2, 0.201, PARTNERS, PARTNERS, [True] * 14)
@example(0.1, 0.15, ("vehicle",), ("roadside",), [True] * 14)
def test_equal_are_the_delays_that_the_channel_delivers_alike(
    first: float,
    second: float,
    kinds: tuple[Kind, ...],
    other_kinds: tuple[Kind, ...],
    present: list[bool],
) -> None:
    made = Fixed(first, kinds), Fixed(second, other_kinds)
    equal = compute_late_steps(made[:1], PERIOD) == compute_late_steps(made[1:], PERIOD)
    always = [True] * len(present)
    assert (delivered(made[0], always) == delivered(made[1], always)) == equal
    if equal:
        assert delivered(made[0], present) == delivered(made[1], present)


def delivered(late: Fixed, present: list[bool]) -> list[list[tuple[str, int]]]:
    """Return what the system is given: the vehicle is in range at some steps only."""
    episode = Episode(late)
    for there in present:
        episode.step(NAMES if there else NAMES[:1])
    episode.channel.audit.verify_deliveries()
    return [[(message.sender, message.capture_frame) for message in step] for step in episode.given]


def test_delays_that_are_sampled_or_not_alone_are_never_equal() -> None:
    late = Fixed(0.3)
    assert (
        compute_late_steps([late, Fixed(0.2)], PERIOD)
        == compute_late_steps([Fixed(0.6)], PERIOD)
        == (3, 3, 0)
    )
    for others in ([Uniform(0.3, 0.3)], [late, Loss(0.5)], [late, FixedPoseError(0.5)], []):
        assert compute_late_steps(others, PERIOD) is None
    assert compute_late_steps([Fixed(1e-7)], PERIOD) is None  # refused, not taken for none


def test_of_equal_conditions_the_longest_delay_is_driven() -> None:
    settings = composed("interference=none", "sweep.latency=[0.3,0.25,0.4,0.41]")
    driven = select_driven_conditions(settings)
    assert driven.names == ["none", "latency=0.4", "latency=0.41"]
    assert driven.same == (("latency=0.4", "latency=0.3", "latency=0.25"),)


def test_every_disturbance_can_be_swept_and_has_its_place_in_the_settings() -> None:
    described = yaml.safe_load((ROOT / "conf" / "config.yaml").read_text())
    assert list(described["sweep"]) == list(SWEPT)
    assert set(described["sweep"].values()) == {None}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SIZES)
def test_every_size_happens(name: str) -> None:
    size = MIDDLE.get(name, 0.5)
    made = build_part(SIZES[name].make_part(size), "interference")
    assert not made.size_zero
    if name not in ("bandwidth", "fog"):  # of which 0 is not none
        assert build_part(SIZES[name].make_part(0), "interference").size_zero
    made.reset(1, "route-4")
    payload = next(sort for sort in (some_boxes, some_points, some_features) if fits(made, sort()))
    episode = Episode(made).run(60, NAMES, payload)
    if made.of_sweeps:
        raw = make_raw_sweep("ego", 0)
        seen = replace(observation("ego", "ego", 0), points_in_lidar=raw.points_in_lidar)
        episode.channel.sense_sweep(seen, raw.surfaces, raw.sensitivity)
    if made.of_answers:
        answer = Perceived(some_boxes(), some_boxes())
        episode.channel.hold_answer(answer, observation("ego", "ego", 0))
    episode.channel.audit.verify_deliveries()
    assert not episode.channel.audit.tally.effects.none


def fits(disturbance: object, payload: Payload) -> bool:
    """Return whether a disturbance can change such a payload."""
    wanted = {"Scattered": Features, "WholeChannels": Features, "StrayPoints": Points}
    return isinstance(payload, wanted.get(type(disturbance).__name__, object))


def test_burst_loss_loses_the_share_that_was_asked_for() -> None:
    made = build_part(SIZES["burst_loss"].make_part(0.4), "interference")
    assert made.at_first @ made.lost == pytest.approx(0.4)


def test_the_conditions_of_the_study_are_left_out_unless_chosen() -> None:
    swept = "sweep.latency=[0.5]"
    assert insert_none_condition(["a=b", swept, "--cfg", "job"]) == [
        "a=b",
        "interference=none",
        swept,
        "--cfg",
        "job",
    ]
    for untouched in (["a=b"], [swept, "interference=[none,loss]"], ["interference=loss", swept]):
        assert insert_none_condition(untouched) == untouched


def test_a_sweep_next_to_chosen_conditions(routes: Path) -> None:
    made = planned(routes, "interference=[none,loss]", "sweep.latency=[0.5]")
    assert conditions(made) == ["none", "loss", "latency=0.5"]
    without = planned(routes, "interference=loss", "sweep.latency=[0.5]")
    assert conditions(without) == ["none", "loss", "latency=0.5"]


def test_a_name_that_is_taken_is_refused() -> None:
    settings = {"interference": {"latency=0.5": []}, "sweep": {"latency": [0.5]}}
    with pytest.raises(UserError, match=r"sweep latency=0\.5 is a condition of interference"):
        with_sweeps(settings)


def test_shares_and_causes_of_links_are_factors() -> None:
    chosen = ("cooperation=[ahead,connected,surveyed]", "link=[ideal,nr_v2x]")
    swept = (
        "sweep.connected_share=[0.2,1]",
        "sweep.roadside_share=[0,0.5]",
        "sweep.link_causes=[radio,queue]",
    )
    settings = composed(*chosen, *swept)
    made = settings["cooperation"]
    assert list(made) == [
        "ahead",
        "connected_vehicles_0.2",
        "connected_vehicles_1",
        "surveyed_units_0",
        "surveyed_units_0.5",
    ]
    assert made["ahead"] == composed(*chosen)["cooperation"]["ahead"]
    assert made["connected_vehicles_0.2"]["connected_share"] == 0.2
    assert made["surveyed_units_0.5"]["roadside"]["share"] == 0.5
    assert made["surveyed_units_0"]["roadside"] is None
    links: Mapping[str, Any] = settings["link"]
    assert list(links) == ["ideal", "nr_v2x_radio", "nr_v2x_queue", "nr_v2x"]
    switches = {
        name: [links[name][f"with_{cause}"] for cause in ("loss", "airtime", "queue")]
        for name in links
        if name != "ideal"
    }
    assert switches == {
        "nr_v2x_radio": [True, True, False],
        "nr_v2x_queue": [False, False, True],
        "nr_v2x": [True, True, True],
    }
    assert len(composed("study=causes")["link"]) == 4


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (["sweep.connected_share=[0.2]"], "needs a cooperation with connected vehicles"),
        (["sweep.roadside_share=[0.2]"], "needs a cooperation with fixed roadside units"),
        (["cooperation=connected", "sweep.connected_share=[1.5]"], "must be from 0 to 1"),
        (["cooperation=connected", "sweep.connected_share=0.5"], "a list is needed, as sweep"),
        (["cooperation=connected", "sweep.connected_share=[0.5,0.5]"], "names a size twice"),
        (["sweep.link_causes=[radio]"], "needs a radio, as link=nr_v2x"),
        (["link=nr_v2x", "sweep.link_causes=[sea]"], "a list of radio, queue is needed"),
        (["link=carla", "sweep.link_causes=[radio]"], r"link\.carla has not"),
        (
            ["link=nr_v2x", "link.nr_v2x.with_loss=false", "sweep.link_causes=[radio]"],
            r"link\.nr_v2x has not",
        ),
    ],
)
def test_bad_sweeps_of_factors_are_one_line(chosen: list[str], words: str) -> None:
    with pytest.raises(UserError, match=words) as raised:
        composed(*chosen)
    assert "\n" not in str(raised.value)
