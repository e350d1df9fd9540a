"""Whether conditions can do anything at all to what these systems' partners send.

A disturbance that meets no message fails its attempt; refused here, before anything is driven.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import get_type_hints

import numpy as np

from harness.campaign.folder.detectors import find_off_domain
from harness.campaign.folder.inputs import list_system_files
from harness.campaign.planning.egos import has_several_egos
from harness.campaign.planning.sizes import refuse_sizes
from harness.campaign.settings.attacks import find_shared_type
from harness.campaign.settings.conditions import (
    build_condition_changes,
    build_condition_disturbances,
    build_condition_parts,
)
from harness.campaign.settings.config import build_part, find_class
from harness.campaign.settings.cooperation import build_arm_cooperation
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.partner_systems import (
    EGO,
    NamedSystem,
    find_layout_problem,
    get_arm_system,
    get_partner_system,
    list_all_systems,
    list_fleet_notes,
    list_kind_systems,
    list_partner_systems,
)
from harness.channel.disturbance import Disturbance
from harness.channel.interference.pictures import Miscalibration
from harness.common.errors import AttemptError, UserError
from harness.common.scene_precision import describe_off_domain
from harness.records.arms import NONE, Arm
from harness.types.agent_sensors import brings_sensors, make_system_note
from harness.types.systems import has_image_reader, is_perceiving_system
from harness.types.vocabulary import Boxes, Features, Kind, Message, Payload, Points, Pose
from harness.world.partners import Cooperation
from harness.world.rig import Rig

SAMPLES: dict[type, Payload] = {
    Boxes: Boxes.none(),
    Points: Points(np.zeros((0, 4), np.float32)),
    Features: Features(()),
}
"""The smallest message of each sort."""


def find_unfit_arms(settings: CampaignSettings, arms: Sequence[Arm]) -> dict[Arm, str]:
    """Return why some arms cannot be driven: a disturbance that can do nothing in them.

    A condition that concerns no partner at all, or suits no arm, is refused.

    Args:
        settings: of the campaign.
        arms: of the plan.

    Returns:
        By arm that cannot be driven, the reason.

    Raises:
        UserError: a condition suits no arm at all.
    """
    # which kinds of agents each cooperation has
    egos = has_several_egos(settings)
    kinds = {
        arm.cooperation: list_agent_kinds(build_arm_cooperation(settings, arm), several_egos=egos)
        for arm in arms
    }
    for name, present in kinds.items():
        refuse_without_partner(name, present)
    refuse_unknown_cameras(settings, arms)
    for condition in dict.fromkeys(arm.condition for arm in arms):
        refuse_sizes(settings, condition)
    all_kinds = frozenset[Kind]().union(*kinds.values())
    reasons = {}
    # what the system sends decides what can be done to it
    for arm in arms:
        systems = list_kind_systems(settings, arm)
        for used in chain(*systems.values()):
            refuse_without_cameras(settings, used)
        payload = make_least_payload(
            settings["system"][arm.system]["_target_"], f"system.{arm.system}"
        )
        present = kinds[arm.cooperation]
        named = get_arm_system(settings, arm).kind
        mounts = brings_sensors(named)
        for change in build_condition_changes(settings, arm.condition):
            if change.partners is not None and not change.partners & present:
                reasons[arm] = f"{change.name} has no partner to double in {arm.cooperation}"
        in_one = not (is_perceiving_system(named) or mounts)  # own sensors: pedals are late
        for disturbance in build_condition_disturbances(settings, arm.condition):
            if disturbance.of_answers and in_one:
                reasons[arm] = (
                    f"{disturbance.name} delays what perceive gives to drive, and the system does"
                    " both in one"
                )
            refuse_absent(disturbance, all_kinds, arm.condition)
            # systems of the agents that are disturbed; pictures show weather
            touched = disturbance.kinds & present or {EGO}
            readers = [one for kind in touched for one in systems[kind]]
            silent = all(is_blind_reader(settings, one) for one in readers)
            sees = mounts or any(has_image_reader(one.kind) for one in readers)
            if mounts and (known := describe_untouched(disturbance)):
                reasons[arm] = known
                continue
            refuse_without_sensitivity(settings, disturbance, arm.condition)
            if disturbance.of_sweeps and silent and not (disturbance.detects and sees):
                reasons[arm] = f"{disturbance.name} changes points, and the system reads none"
            if disturbance.of_speed and not mounts:
                reasons[arm] = f"{disturbance.name} is for systems that bring a speedometer"
            if disturbance.of_pictures and not sees:
                reasons[arm] = f"{disturbance.name} changes pictures, and the system reads none"
            if not disturbance.kinds & present:
                reasons[arm] = f"{disturbance.name} has no agent to disturb in {arm.cooperation}"
            elif payload is not None and not can_touch_payload(disturbance, present, payload):
                sort = type(payload).__name__.lower()
                reasons[arm] = f"{disturbance.name} cannot change the {sort} it shares"
    # a condition without any arm would leave the campaign without it
    for condition in {arm.condition for arm in reasons}:
        of_condition = [arm for arm in arms if arm.condition == condition]
        if all(arm in reasons for arm in of_condition):
            first = of_condition[0]
            raise UserError(
                f"configuration: interference.{condition} with {first.system}: {reasons[first]};"
                " choose another condition"
            )
    return reasons


def is_without_messages(
    settings: CampaignSettings, condition: str, *, sensor_bearing: bool = False
) -> bool:
    """Return whether a condition changes the scene, sweeps or answers, and no message.

    Args:
        settings: of the campaign.
        condition: its name.
        sensor_bearing: for a system with its own sensors, which are where the ego believes to be.
    """
    parts = [part for _, part in build_condition_parts(settings, condition)]
    of_messages = [
        part.of_messages and not (sensor_bearing and getattr(part, "displaces_ego", False))
        for part in parts
    ]
    return bool(of_messages) and not any(of_messages)


def list_system_notes(settings: CampaignSettings) -> tuple[str, ...]:
    """Return what is said of systems: privileged, without boxes, detectors off their domain."""
    notes = [make_system_note(one.kind, one.name) for one in list_all_systems(settings)]
    notes += [*list_fleet_notes(settings), *list_feature_notes(settings)]
    notes += list_unasked_notes(settings)
    notes.append(describe_off_domain(find_off_domain(settings)))
    return tuple(filter(None, notes))


def list_guests(settings: CampaignSettings) -> tuple[str, ...]:
    """Return the systems that compute in a program of the user's: each takes a time of its own."""
    kinds = {
        name: find_class(part["_target_"], f"system.{name}")
        for name, part in settings["system"].items()
    }
    return tuple(
        name for name, kind in kinds.items() if getattr(kind, "has_separate_python", False)
    )


def list_unasked_notes(settings: CampaignSettings) -> Iterator[str]:
    """Yield a line for each system that is driven as `none` though only disturbances are named."""
    if NONE in settings["interference"]:
        return
    for name, part in settings["system"].items():
        kind = find_class(part["_target_"], f"system.{name}")
        if kind.reads_messages:
            continue
        brings = brings_sensors(kind)
        lost = [
            condition
            for condition in settings["interference"]
            if not is_without_messages(settings, condition, sensor_bearing=brings)
        ]
        if lost:
            yield f"{name} reads no messages: it is driven as none, without {', '.join(lost)}"


def list_feature_notes(settings: CampaignSettings) -> Iterator[str]:
    """Yield a line for each pair of systems whose feature maps fit, though their encoders do not.

    Networks that were trained apart describe the same scene by other numbers. Those of one file of
    weights do not, whatever their agents sense with.
    """
    for name, part in settings["system"].items():
        ego = NamedSystem(name=name, place=f"system.{name}", part=part)
        for other in list_partner_systems(settings):
            sender = get_partner_system(settings, other)
            features = [find_shared_type(one.kind) is Features for one in (ego, sender)]
            if not all(features) or find_layout_problem(ego, sender) is not None:
                continue
            files = [list_system_files(one.part, one.place) for one in (ego, sender)]
            if files[0] != files[1]:
                yield (
                    f"{name} fuses features of {other}: shapes agree, and the encoders were trained"
                    " apart"
                )


def describe_untouched(disturbance: Disturbance) -> str | None:
    """Return why a disturbance cannot change what a system's own sensors give; None if it can."""
    if disturbance.detects:
        return (
            f"{disturbance.name} needs to know what LiDARs detect, and those that the system brings"
            " drop returns by CARLA's own rule"
        )
    if disturbance.sort == Miscalibration.name:
        return (
            f"{disturbance.name} changes what an agent knows of its cameras, and a system that"
            " brings its cameras is given nothing of that"
        )
    return None


def list_agent_kinds(cooperation: Cooperation, *, several_egos: bool = False) -> frozenset[Kind]:
    """Return the kinds of agents that a disturbance could affect.

    Args:
        cooperation: who may be a partner.
        several_egos: whether other driven egos are partners, too.
    """
    kinds: set[Kind] = {"ego"}
    if cooperation.roadside is not None:
        kinds.add("roadside")
    if several_egos or (cooperation.connected and cooperation.connected_share):
        kinds.add("vehicle")
    return frozenset(kinds if cooperation.range and cooperation.maximum else {"ego"})


def refuse_without_partner(cooperation: str, present: frozenset[Kind]) -> None:
    """Refuse an arm of cooperation that can never have a partner."""
    if cooperation != NONE and not present - {"ego"}:
        raise UserError(
            f"configuration: cooperation.{cooperation}: no agent can ever be a partner; a roadside"
            " unit, connected vehicles with a share or several driven egos are needed, and a range"
            " and a maximum above 0"
        )


def make_least_payload(target: str, place: str) -> Payload | None:
    """Return the least that a system may share, if its class annotates it."""
    try:
        shared = get_type_hints(find_class(target, place).share).get("return")
    except (AttributeError, NameError, SyntaxError, TypeError):
        return None
    return SAMPLES.get(shared) if isinstance(shared, type) else None


def refuse_absent(disturbance: Disturbance, present: frozenset[Kind], condition: str) -> None:
    """Refuse a disturbance of partners that are not there."""
    if not disturbance.kinds & present:
        kinds = " or ".join(sorted(disturbance.kinds))
        raise UserError(
            f"configuration: interference.{condition}: {disturbance.name} disturbs {kinds}, and"
            " the cooperation has none of these agents; choose another cooperation or condition"
        )


def is_blind_reader(settings: CampaignSettings, system: NamedSystem) -> bool:
    """Return whether a system reads messages and no points: changed sweeps change nothing for it.

    One that reads neither may be driven: it shows what does not depend on sweeps.
    """
    named = system.kind
    reads_points = getattr(named, "reads_points", True) or settings["record"]["points"]
    return bool(getattr(named, "reads_messages", True) and not reads_points)


def refuse_without_cameras(settings: CampaignSettings, system: NamedSystem) -> None:
    """Refuse a system that reads images with a rig without cameras."""
    rig: Rig = build_part(settings["rig"], "rig")
    if has_image_reader(system.kind) and not rig.has_cameras:
        raise UserError(
            f"configuration: {system.place} reads images, and the rig has no cameras; choose"
            " rig=v2xverse_cameras or rig=opv2v"
        )


def refuse_unknown_cameras(settings: CampaignSettings, arms: Iterable[Arm]) -> None:
    """Refuse pictures that no camera takes, or that no system reads."""
    kept = settings["record"].get("pictures") or []
    if not kept:
        return
    rig: Rig = build_part(settings["rig"], "rig")
    known = sorted({*rig.vehicle_cameras, *rig.roadside_cameras})
    unknown = [name for name in kept if name not in known]
    if unknown:
        cameras = f"has {', '.join(known)}" if known else "has no cameras"
        raise UserError(
            f"configuration: record.pictures: no camera {unknown[0]!r}; the rig {cameras}"
        )
    systems = chain(*(chain(*list_kind_systems(settings, arm).values()) for arm in arms))
    if not any(has_image_reader(one.kind) for one in systems):
        raise UserError(
            "configuration: record.pictures: no system of the campaign reads images, so that no"
            " cameras are mounted"
        )


def refuse_without_sensitivity(
    settings: CampaignSettings, disturbance: Disturbance, condition: str
) -> None:
    """Refuse weather where it is not known what the LiDARs detect."""
    rig: Rig = build_part(settings["rig"], "rig")
    kinds = sorted(disturbance.kinds) if disturbance.detects else []
    for kind in kinds:
        if rig.get_mount(kind).sensitivity is None:
            raise UserError(
                f"configuration: interference.{condition}: {disturbance.name} needs to know what"
                f" LiDARs detect, and rig.{kind}.r_max is null; choose a rig with a sensitivity,"
                " as rig=v2xverse_200m, which holds in dry air, too"
            )


def can_touch_payload(disturbance: Disturbance, present: frozenset[Kind], payload: Payload) -> bool:
    """Return whether a trial message of each partner passes through the disturbance."""
    disturbance.reset(0, "0")
    try:
        for kind in sorted(disturbance.kinds & present - {"ego"}):
            disturbance.alter(
                Message(
                    sender=kind,
                    kind=kind,
                    capture_frame=0,
                    capture_time=0.0,
                    lidar_in_world=Pose(0.0, 0.0),
                    payload=payload,
                )
            )
    except AttemptError:
        return False
    return True
