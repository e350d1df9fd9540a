"""Every method of the client's API gives a sane answer, or is refused by the name of its call."""

from __future__ import annotations

import re

import carla
import pytest

from harness.carlite import calls
from tests.carlite.apart import apart
from tests.carlite.surface import actors, client, roads, traffic, world
from tests.carlite.surface.stage import Idle, Refused, Stage, Table, Unheard, survey
from tests.conftest import ROOT

TABLES: dict[str, Table] = {
    "Client": client.CLIENT,
    "World": world.WORLD,
    "WorldSnapshot": world.SNAPSHOT,
    "ActorSnapshot": world.ACTOR_SNAPSHOT,
    "ActorList": world.ACTOR_LIST,
    "BlueprintLibrary": world.LIBRARY,
    "ActorBlueprint": world.BLUEPRINT,
    "ActorAttribute": world.ATTRIBUTE,
    "Map": roads.MAP,
    "Waypoint": roads.WAYPOINT,
    "Junction": roads.JUNCTION,
    "Landmark": roads.LANDMARK,
    "Actor": actors.ACTOR,
    "Vehicle": actors.VEHICLE,
    "Walker": actors.WALKER,
    "WalkerAIController": actors.CONTROLLER,
    "Sensor": actors.SENSOR,
    "ServerSideSensor": actors.SERVER_SENSOR,
    "TrafficLight": traffic.LIGHT,
    "TrafficSign": traffic.SIGN,
    "TrafficManager": traffic.MANAGER,
    "DebugHelper": client.DEBUG,
    "LightManager": client.LAMPS,
    "Image": client.IMAGE,
    "LidarMeasurement": client.SWEEP,
    "SemanticLidarMeasurement": client.SEMANTIC_SWEEP,
    "RadarMeasurement": client.RADAR,
}
CLIENT_ALONE = {
    "BoundingBox", "FakeImage", "Location", "Osm2Odr", "Osm2OdrSettings", "Rotation",
    "TextureColor", "TextureFloatColor", "Transform", "Vector2D", "Vector3D",
}  # fmt: skip
"""Containers and arithmetic that no server has a part in."""
NEVER_SENT = {
    "CAMEvent", "CAMMessage", "CustomV2XData", "CustomV2XEvent", "DVSEventArray", "Light",
    "OpticalFlowImage",
}  # fmt: skip
"""What lamps would send, and what sensors send that tests of their own ask."""


def members(kind: type) -> dict[str, object]:
    """Return what a class of the client library adds to its bases, by public name."""
    return {name: member for name, member in vars(kind).items() if not name.startswith("_")}


def test_no_method_is_missing_from_the_tables() -> None:
    classes = {
        name: kind
        for name, kind in vars(carla).items()
        if isinstance(kind, type) and not name.startswith("vector_of_")
    }
    with_methods = {
        name
        for name, kind in classes.items()
        if not issubclass(kind, int) and any(map(callable, members(kind).values()))
    }
    assert with_methods | {"TrafficSign"} == TABLES.keys() | CLIENT_ALONE | NEVER_SENT
    for name, table in TABLES.items():
        assert table.keys() == members(classes[name]).keys(), name


def entries(*kinds: type) -> set[str]:
    """Return the remote calls that the tables say are answered in one of some ways."""
    return {
        entry.call
        for table in TABLES.values()
        for entry in table.values()
        if isinstance(entry, Refused | Unheard | Idle) and isinstance(entry, kinds)
    }


@pytest.mark.parametrize(
    ("heading", "role", "kinds"),
    [
        ("Accepted without effect", "_do_nothing", (Idle,)),
        ("Refused", "refuse", (Refused, Unheard)),
    ],
)
def test_the_page_lists_what_the_server_does(
    heading: str, role: str, kinds: tuple[type, ...]
) -> None:
    page = (ROOT / "docs" / "reference" / "protocol.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line.split(" | ", 1)[1] for line in section.splitlines() if " | `" in line]
    listed = set(re.findall(r"`([a-z_]+)`", " ".join(rows)))
    assert listed == {
        name for name, call in calls.build_call_table().items() if call.run.__name__ == role
    }
    assert entries(*kinds) <= listed


def ask_for(stage: Stage, *names: str) -> None:
    """Survey some classes and say all that is wrong with them."""
    wrong = [f"{name}.{what}" for name in names for what in survey(TABLES[name], stage)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.thorough
@apart
def test_the_world_answers(client: carla.Client, world: carla.World) -> None:
    ask_for(
        Stage(client, world), "World", "WorldSnapshot", "ActorSnapshot", "ActorList",
        "BlueprintLibrary", "ActorBlueprint", "ActorAttribute", "DebugHelper", "LightManager",
    )  # fmt: skip


@pytest.mark.thorough
@apart
def test_the_map_answers(client: carla.Client, world: carla.World) -> None:
    ask_for(Stage(client, world), "Map", "Waypoint", "Junction", "Landmark")


@pytest.mark.thorough
@apart
def test_actors_answer(client: carla.Client, world: carla.World) -> None:
    stage = Stage(client, world)
    ask_for(stage, "Actor", "Vehicle", "Walker", "WalkerAIController", "TrafficLight")
    ask_for(stage, "TrafficSign")


@pytest.mark.thorough
@apart
def test_sensors_answer(client: carla.Client, world: carla.World) -> None:
    stage = Stage(client, world)
    ask_for(stage, "Sensor", "ServerSideSensor", "Image", "LidarMeasurement")
    ask_for(stage, "SemanticLidarMeasurement", "RadarMeasurement")


@pytest.mark.thorough
@apart
def test_the_traffic_manager_answers(client: carla.Client, world: carla.World) -> None:
    ask_for(Stage(client, world), "TrafficManager")


@pytest.mark.thorough
@apart
def test_the_client_answers(client: carla.Client, world: carla.World) -> None:
    ask_for(Stage(client, world), "Client")
