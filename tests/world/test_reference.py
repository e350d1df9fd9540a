"""The reference rig sees the same in every arm; a partner chosen at random stays."""

from __future__ import annotations

import carla
import pytest

from harness.world.attempt_context import AttemptContext
from harness.world.ego import EgoVehicle
from harness.world.partners import Ahead, Cooperation, PartnerFleet, Surveyed, spawn_partners
from harness.world.senses import give_all
from tests.world.test_partners import PLACE, PLANNING, RIG, Drive, context, ego, fleet_of

__all__ = ["context", "ego"]


def cooperations() -> dict[str, Cooperation]:
    """Return ways to cooperate; placements know where their units stand."""
    return {
        "ahead": Cooperation(roadside=Ahead(**PLACE)),
        "mixed": Cooperation(roadside=Ahead(**PLACE), connected=2),
        "connected": Cooperation(connected=2),
        "surveyed": Cooperation(roadside=Surveyed(RIG.roadside_height)),
        "farther ahead": Cooperation(roadside=Ahead(**{**PLACE, "distance": 20.0})),
        "none": Cooperation(),
    }


def sensors(context: AttemptContext) -> int:
    context.world.tick()
    return len(context.world.get_actors().filter("sensor.*"))


@pytest.mark.thorough
def test_the_reference_rig_sees_the_same_in_every_arm(
    context: AttemptContext, ego: EgoVehicle
) -> None:
    fleet = fleet_of(context, ego, [20.0, 35.0])
    context.world.tick()
    arms = {
        name: spawn_partners(
            settings,
            context,
            rig=RIG,
            period=0.2,
            senses=give_all(reads_points=False),
            fleet=fleet,
            reference=Ahead(**PLACE),
        )
        for name, settings in cooperations().items()
    }
    drive = Drive(context, ego, arms["none"])
    seen = 0
    for _ in range(12):
        snapshot = context.world.get_snapshot()
        for partners in arms.values():
            partners.choose_sharing_partners(drive.state, snapshot)
        drive.tick()
        swept = {name: arm.collect_scans(drive.state.frame) for name, arm in arms.items()}
        (wanted,) = swept["none"].reference
        for name, sweeps in swept.items():
            (scan,) = sweeps.reference
            assert scan.hits == wanted.hits, name
            assert scan.lidar_in_world == wanted.lidar_in_world, name
        seen += sum(actor.id in wanted.hits for actor in fleet)
        for _ in range(PLANNING - 1):
            drive.tick()
    assert seen >= 12
    assert swept["none"].shared == []
    for partners in arms.values():
        partners.destroy_posts()


@pytest.mark.thorough
def test_a_unit_that_is_the_reference_is_not_scanned_twice(
    context: AttemptContext, ego: EgoVehicle
) -> None:
    before = sensors(context)
    for name, units in (("ahead", 1), ("farther ahead", 2), ("none", 1)):
        partners = spawn_partners(
            cooperations()[name],
            context,
            rig=RIG,
            period=0.2,
            senses=give_all(reads_points=False),
            fleet=[],
            reference=Ahead(**PLACE),
        )
        assert sensors(context) - before == units
        partners.destroy_posts()
    partners = spawn_partners(
        cooperations()["farther ahead"],
        context,
        rig=RIG,
        period=0.2,
        senses=give_all(reads_points=True),
        fleet=[],
        reference=Ahead(**PLACE),
    )
    assert sensors(context) - before == 2 + 1  # the points of the reference are not read
    partners.destroy_posts()


@pytest.mark.thorough
def test_without_a_reference_nothing_more_is_scanned(
    context: AttemptContext, ego: EgoVehicle
) -> None:
    partners = spawn_partners(
        cooperations()["ahead"],
        context,
        rig=RIG,
        period=0.2,
        senses=give_all(reads_points=False),
        fleet=[],
    )
    drive = Drive(context, ego, partners)
    partners.choose_sharing_partners(drive.state, context.world.get_snapshot())
    drive.tick()
    sweeps = partners.collect_scans(drive.state.frame)
    assert (len(sweeps.shared), sweeps.reference) == (1, [])
    partners.destroy_posts()


def random_partner(context: AttemptContext, fleet: list[carla.Actor], seed: int) -> PartnerFleet:
    one = Cooperation(connected=1, maximum=1, choice="random")
    there = AttemptContext(
        client=context.client,
        world=context.world,
        map=context.map,
        traffic_manager=None,
        route=context.route,
        seed=seed,
        tick_seconds=0.05,
    )
    return spawn_partners(
        one, there, rig=RIG, period=0.2, senses=give_all(reads_points=False), fleet=fleet
    )


@pytest.mark.thorough
def test_one_partner_is_chosen_at_random_and_kept_while_in_range(
    context: AttemptContext, ego: EgoVehicle
) -> None:
    fleet = fleet_of(context, ego, [15.0, 25.0, 35.0, 45.0])
    context.world.tick()
    chosen = {}
    for seed in range(12):
        partners = random_partner(context, fleet, seed)
        drive = Drive(context, ego, partners, speed=0.0)
        names = [name for _ in range(3) for name, _ in drive.plan()]
        assert len(names) == 3
        (chosen[seed],) = set(names)
        partners.destroy_posts()
    assert len(set(chosen.values())) >= 3
    again = random_partner(context, fleet, 0)
    drive = Drive(context, ego, again, speed=0.0)
    assert [name for name, _ in drive.plan()] == [chosen[0]]
    fleet[int(chosen[0].removeprefix("vehicle-"))].destroy()
    for _ in range(PLANNING):
        drive.tick()
    ((other, _),) = drive.plan()
    assert other != chosen[0]
    assert [name for name, _ in drive.plan()] == [other]
    again.destroy_posts()


@pytest.mark.parametrize("name", ["paper_v2v", "paper_v2i"])
def test_the_papers_single_partner_is_a_choice_of_the_configuration(name: str) -> None:
    from harness.campaign.settings.config import build_part
    from tests.campaign.tiny import composed

    settings = composed(f"cooperation={name}")["cooperation"]
    assert list(settings) == [name]
    made = build_part(settings[name], f"cooperation.{name}")
    assert (made.choice, made.maximum) == ("random", 1)
    assert (made.connected, made.roadside is None) == (
        (1, True) if name.endswith("v") else (0, False)
    )
