"""carla.Map and what it is made of: all computed in the client from the server's OpenDRIVE."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import carla

from tests.carlite.surface.stage import Stage, Table

STOP_SIGN = "206"


def _written(stage: Stage) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "town.xodr"
        stage.map.save_to_disk(str(path))
        return path.read_text(encoding="utf-8") == stage.map.to_opendrive() + "\n"


def _cooked(stage: Stage) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "town.bin"
        stage.map.cook_in_memory_map(str(path))
        return path.stat().st_size > 10_000


def _there_and_back(stage: Stage) -> bool:
    geo = stage.map.transform_to_geolocation(stage.place.location)
    back = stage.map.geolocation_to_transform(geo)
    return bool(back.distance(stage.place.location) < 0.5)


MAP: Table = {
    "name": lambda s: s.map.name == "Carla/Maps/Crucible05",
    "get_spawn_points": lambda s: len(s.map.get_spawn_points()) > 100,
    "get_waypoint": lambda s: (
        s.map.get_waypoint(s.place.location).transform.location.distance(s.place.location) < 1.0
    ),
    "get_waypoint_xodr": lambda s: (
        s.map.get_waypoint_xodr(s.waypoint.road_id, s.waypoint.lane_id, s.waypoint.s).transform
        == s.waypoint.transform
    ),
    "get_topology": lambda s: all(len(pair) == 2 for pair in s.map.get_topology()),
    "generate_waypoints": lambda s: len(s.map.generate_waypoints(10.0)) > 500,
    "transform_to_geolocation": lambda s: (
        abs(s.map.transform_to_geolocation(s.place.location).latitude - 48.1) < 0.01
    ),
    "geolocation_to_transform": _there_and_back,
    "to_opendrive": lambda s: s.map.to_opendrive().rstrip().endswith("</OpenDRIVE>"),
    "save_to_disk": _written,
    "cook_in_memory_map": _cooked,
    "get_crosswalks": lambda s: len(s.map.get_crosswalks()) >= 5 * 68,
    "get_all_landmarks": lambda s: len(s.map.get_all_landmarks()) > 50,
    "get_all_landmarks_from_id": lambda s: (
        {mark.id for mark in s.map.get_all_landmarks_from_id(s.light.get_opendrive_id())}
        == {s.light.get_opendrive_id()}
    ),
    "get_all_landmarks_of_type": lambda s: (
        {mark.type for mark in s.map.get_all_landmarks_of_type(STOP_SIGN)} == {STOP_SIGN}
    ),
    "get_landmark_group": lambda s: (
        s.light.get_opendrive_id()
        in [
            mark.id
            for mark in s.map.get_landmark_group(
                s.map.get_all_landmarks_from_id(s.light.get_opendrive_id())[0]
            )
        ]
    ),
    "get_all_road_marks": lambda s: isinstance(s.map.get_all_road_marks(), list),
    "get_all_road_marks_of_type": lambda s: s.map.get_all_road_marks_of_type("none") == [],
    "get_road_marks_from_id": lambda s: s.map.get_road_marks_from_id("none") == [],
}


def _in_junction(stage: Stage) -> Any:
    waypoint = stage.waypoint
    while not waypoint.is_junction:
        waypoint = waypoint.next(2.0)[0]
    return waypoint


def _before_light(stage: Stage) -> Any:
    return stage.light.get_stop_waypoints()[0].previous(5.0)[0]


def _neighbour_lanes(waypoint: Any) -> bool:
    return any(
        lane is not None and lane.road_id == waypoint.road_id
        for lane in (waypoint.get_left_lane(), waypoint.get_right_lane())
    )


WAYPOINT: Table = {
    "id": lambda s: s.waypoint.id > 0,
    "transform": lambda s: s.waypoint.transform.location.distance(s.place.location) < 1.0,
    "is_intersection": lambda s: _in_junction(s).is_intersection,
    "is_junction": lambda s: not s.waypoint.is_junction,
    "is_rht": lambda s: s.waypoint.is_rht,
    "lane_width": lambda s: 2.5 < s.waypoint.lane_width < 4.0,
    "road_id": lambda s: s.waypoint.road_id >= 0,
    "section_id": lambda s: s.waypoint.section_id >= 0,
    "lane_id": lambda s: s.waypoint.lane_id != 0,
    "s": lambda s: s.waypoint.s >= 0.0,
    "junction_id": lambda s: s.waypoint.junction_id == -1 and _in_junction(s).junction_id >= 0,
    "lane_change": lambda s: s.waypoint.lane_change in carla.LaneChange.values.values(),
    "lane_type": lambda s: s.waypoint.lane_type == carla.LaneType.Driving,
    "right_lane_marking": lambda s: isinstance(s.waypoint.right_lane_marking, carla.LaneMarking),
    "left_lane_marking": lambda s: isinstance(s.waypoint.left_lane_marking, carla.LaneMarking),
    "next": lambda s: (
        abs(s.waypoint.next(2.0)[0].transform.location.distance(s.waypoint.transform.location) - 2)
        < 0.1
    ),
    "previous": lambda s: s.waypoint.next(2.0)[0].previous(2.0)[0].s - s.waypoint.s < 0.1,
    "next_until_lane_end": lambda s: s.waypoint.next_until_lane_end(1.0),
    "previous_until_lane_start": lambda s: s.waypoint.previous_until_lane_start(1.0),
    "get_right_lane": lambda s: _neighbour_lanes(s.waypoint),
    "get_left_lane": lambda s: _neighbour_lanes(s.waypoint),
    "get_junction": lambda s: _in_junction(s).get_junction().id == _in_junction(s).junction_id,
    "get_landmarks": lambda s: (
        s.light.get_opendrive_id() in [mark.id for mark in _before_light(s).get_landmarks(10.0)]
    ),
    "get_landmarks_of_type": lambda s: (
        {mark.type for mark in _before_light(s).get_landmarks_of_type(10.0, "1000001")}
        == {"1000001"}
    ),
}

JUNCTION: Table = {
    "id": lambda s: _in_junction(s).get_junction().id >= 0,
    "bounding_box": lambda s: 3.0 < _in_junction(s).get_junction().bounding_box.extent.x < 50.0,
    "get_waypoints": lambda s: all(
        entry.is_junction or leave.is_junction
        for entry, leave in _in_junction(s).get_junction().get_waypoints(carla.LaneType.Driving)
    ),
}


def _sign(stage: Stage) -> Any:
    """Return a stop sign as seen from a lane: only such landmarks know their waypoint."""
    sign = stage.map.get_all_landmarks_of_type(STOP_SIGN)[0]
    way = stage.map.get_waypoint_xodr(sign.road_id, sign.get_lane_validities()[0][0], sign.s)
    return way.previous(5.0)[0].get_landmarks_of_type(10.0, STOP_SIGN)[0]


LANDMARK: Table = {
    "id": lambda s: _sign(s).id,
    "type": lambda s: _sign(s).type == STOP_SIGN,
    "sub_type": lambda s: isinstance(_sign(s).sub_type, str),
    "name": lambda s: isinstance(_sign(s).name, str),
    "text": lambda s: isinstance(_sign(s).text, str),
    "country": lambda s: isinstance(_sign(s).country, str),
    "unit": lambda s: isinstance(_sign(s).unit, str),
    "value": lambda s: isinstance(_sign(s).value, float),
    "is_dynamic": lambda s: _sign(s).is_dynamic is False,
    "orientation": lambda s: _sign(s).orientation in carla.LandmarkOrientation.values.values(),
    "road_id": lambda s: _sign(s).road_id == _sign(s).waypoint.road_id,
    "distance": lambda s: _sign(s).distance >= 0.0,
    "s": lambda s: _sign(s).s >= 0.0,
    "t": lambda s: abs(_sign(s).t) < 30.0,
    "z_offset": lambda s: 0.0 <= _sign(s).z_offset < 10.0,
    "h_offset": lambda s: abs(_sign(s).h_offset) < 7.0,
    "pitch": lambda s: abs(_sign(s).pitch) < 7.0,
    "roll": lambda s: abs(_sign(s).roll) < 7.0,
    "height": lambda s: 0.0 <= _sign(s).height < 10.0,
    "width": lambda s: 0.0 <= _sign(s).width < 10.0,
    "transform": lambda s: (
        _sign(s).transform.location.distance(_sign(s).waypoint.transform.location) < 30.0
    ),
    "waypoint": lambda s: isinstance(_sign(s).waypoint, carla.Waypoint),
    "get_lane_validities": lambda s: all(len(pair) == 2 for pair in _sign(s).get_lane_validities()),
}
