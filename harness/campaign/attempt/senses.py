"""The senses of an ego and of its partners: LiDARs, cameras, sensors that a system brings."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import carla

from harness.campaign.attempt.agent_sensing import AgentSensing
from harness.campaign.attempt.ego_parts import EgoParts
from harness.campaign.attempt.live import LiveView
from harness.campaign.attempt.metrics import AttemptMetrics
from harness.campaign.attempt.perception import PerceptionLoop
from harness.campaign.settings.config import build_part
from harness.campaign.settings.cooperation import build_reference_placement
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.metrics import build_metrics
from harness.channel.channel import Channel
from harness.common.randomness import derive_seed
from harness.types.agent_sensors import (
    FurtherEgo,
    WorldPlace,
    brings_sensors,
    has_boxes,
)
from harness.types.systems import PrivilegedSystem, System, has_image_reader
from harness.world.agent_sensors import AgentSensors
from harness.world.attempt_context import AttemptContext
from harness.world.ego import EgoVehicle
from harness.world.partners import PartnerFleet, spawn_partners
from harness.world.rig import Rig


def get_planning_period(settings: CampaignSettings) -> float:
    """Return the seconds between two planning steps."""
    period: float = settings["tick"] * settings["perceive_every"]
    return period


def has_point_reader(settings: CampaignSettings, system: System | PrivilegedSystem) -> bool:
    """Return whether anything reads the points of a sweep."""
    return bool(system.reads_points or settings["record"]["points"])


def set_up_partners(
    context: AttemptContext,
    settings: CampaignSettings,
    *,
    parts: EgoParts,
    vehicles: Sequence[carla.Actor | None],
    stack: ExitStack,
) -> PartnerFleet:
    """Return the ego's partners, and the reference rig if ground truth depends on it."""
    rig: Rig = build_part(settings["rig"], "rig")
    partners = spawn_partners(
        parts.cooperation,
        context,
        rig=rig,
        period=get_planning_period(settings),
        senses=parts.sharing.choose_senses,
        reads_surfaces=has_surface_reader(rig, parts.channel),
        fleet=vehicles,
        reference=build_reference_placement(settings),
    )
    stack.callback(partners.destroy_posts)
    return partners


def set_up_perception(
    context: AttemptContext,
    settings: CampaignSettings,
    *,
    number: int,
    parts: EgoParts,
    vehicle: EgoVehicle,
    partners: PartnerFleet,
    view: LiveView,
    stack: ExitStack,
    further: Sequence[FurtherEgo] = (),
) -> PerceptionLoop:
    """Return the senses of the ego and its partners; the stack removes them.

    Args:
        context: with the ego's route.
        settings: of the campaign.
        number: of the ego, from 0.
        parts: made for it.
        vehicle: that it drives.
        partners: that it hears.
        view: what shows it.
        stack: removes what is spawned.
        further: egos after the first; for the first ego only.
    """
    rig: Rig = build_part(settings["rig"], "rig")
    system, channel = parts.system, parts.channel
    scans_points = has_point_reader(settings, system)
    agent_sensing = set_up_agent_sensing(
        context,
        system,
        channel=channel,
        ego=vehicle,
        stack=stack,
        number=number,
        further=further,
    )
    perception = PerceptionLoop(
        context,
        system,
        number=number,
        fleet=parts.sharing,
        channel=channel,
        partners=partners,
        ego=vehicle,
        mount=rig.ego,
        period=get_planning_period(settings),
        rules=build_part(settings["patterns"], "patterns"),
        reads_points=scans_points,
        reads_surfaces=has_surface_reader(rig, channel),
        counts_after_sensing=scans_points
        and has_surface_reader(rig, channel)
        and has_boxes(system),
        cameras=rig.place_cameras("ego") if has_image_reader(system) else (),
        metrics=AttemptMetrics(build_metrics(settings), context.route),
        view=view,
        intervening=parts.intervening,
        defence=parts.defence,
        compensation=parts.compensation,
        computing=parts.computing,
        agent_sensing=agent_sensing,
    )
    stack.callback(perception.close_lidar)
    return perception


def set_up_agent_sensing(
    context: AttemptContext,
    system: System | PrivilegedSystem,
    *,
    channel: Channel,
    ego: EgoVehicle,
    stack: ExitStack,
    number: int = 0,
    further: Sequence[FurtherEgo] = (),
) -> AgentSensing | None:
    """Return the sensors that a system brings, on the ego; None if it brings none.

    Args:
        context: with the ego's route.
        system: that drives.
        channel: of the ego.
        ego: that carries the sensors.
        stack: removes what is spawned.
        number: of the ego, from 0.
        further: egos after the first; for the first ego only.
    """
    if not brings_sensors(system):
        return None
    host, port = context.server
    place = WorldPlace(
        host=host,
        port=port,
        ego_id=ego.actor.id,
        tick_seconds=context.tick_seconds,
        opendrive=context.map.to_opendrive(),
        attempt=context.attempt,
        further=tuple(further),
    )
    requests = system.open_attempt(
        place, seed=derive_seed(context.seed, "system"), route=context.route
    )
    stack.callback(system.close_attempt)
    sensors = AgentSensors(context, ego.actor, requests, number)
    stack.callback(sensors.destroy_sensors)
    return AgentSensing(system, sensors, channel)


def has_surface_reader(rig: Rig, channel: Channel) -> bool:
    """Return whether what points lie on is to be known: for what senses, and for hits after it."""
    sensitive = any(mount.sensitivity for mount in rig.mounts)
    known = all(mount.returns_all for mount in rig.mounts)
    return channel.needs_surfaces or ((channel.of_sweeps or sensitive) and known)
