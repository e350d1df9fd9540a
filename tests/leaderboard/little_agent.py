"""An agent in the Leaderboard's form: follows its GPS route by satellite position and compass.

It runs in any Python from 3.7 on, with numpy and nothing else. LITTLE_AGENT_JOURNAL names a file in
which it writes what it was given, a line for each step; LITTLE_AGENT_FAULT what it does wrong.
"""

from __future__ import annotations

import json
import math
import os
from typing import Any

import carla
import numpy as np
from leaderboard.autoagents.autonomous_agent import (  # type: ignore[import-not-found]
    AutonomousAgent,
    Track,
)

EARTH = 6378137.0
CRUISE = 5.0


def get_entry_point() -> str:
    return "LittleAgent"


class LittleAgent(AutonomousAgent):  # type: ignore[misc]
    def setup(self, path_to_conf_file: str) -> None:
        self.track = Track.MAP
        self.journal = os.environ.get("LITTLE_AGENT_JOURNAL", "")
        self.row = 0
        fault = os.environ.get("LITTLE_AGENT_FAULT", "")
        if fault == "setup":
            raise ValueError("no weights here")
        self.fault = fault

    def sensors(self) -> list[dict[str, Any]]:
        at = {"x": 0.7, "y": 0.0, "z": 1.6, "roll": 0.0, "pitch": 0.0, "yaw": 0.0}
        kind = "sensor.other.sonar" if self.fault == "sensor" else "sensor.camera.rgb"
        return [
            {"type": kind, "id": "front", "width": 64, "height": 48, "fov": 90, **at},
            {
                "type": "sensor.camera.depth",
                "id": "deep",
                "width": 32,
                "height": 24,
                "fov": 90,
                **at,
            },
            {"type": "sensor.lidar.ray_cast", "id": "LIDAR", **at, "yaw": -90.0},
            {"type": "sensor.other.radar", "id": "radar", **at, "fov": 30},
            {"type": "sensor.other.gnss", "id": "gps", **at},
            {"type": "sensor.other.imu", "id": "imu", **at},
            {"type": "sensor.speedometer", "id": "speed", "reading_frequency": 20},
            {"type": "sensor.opendrive_map", "id": "map", "reading_frequency": 1e-6},
        ]

    def set_global_plan(self, global_plan_gps: Any, global_plan_world_coord: Any) -> None:
        super().set_global_plan(global_plan_gps, global_plan_world_coord)
        # not thinned: (rows, 2) metres north and east
        self.way = np.array([to_metres(place["lat"], place["lon"]) for place, _ in global_plan_gps])

    def run_step(self, input_data: Any, timestamp: float) -> Any:
        if self.fault == "step" and timestamp > 0.5:
            raise RuntimeError("lost")
        while self.fault == "hang" and timestamp > 0.5:
            pass
        here = np.array(to_metres(*input_data["gps"][1][:2]))
        compass, speed = input_data["imu"][1][-1], input_data["speed"][1]["speed"]
        # the place of the route that is six metres on
        away = np.linalg.norm(self.way - here, axis=1)
        self.row = max(self.row, int(away.argmin()))
        target = self.way[min(self.row + 6, len(self.way) - 1)] - here
        course = math.atan2(target[1], target[0])  # clockwise from north
        wrong = (course - compass + math.pi) % (2 * math.pi) - math.pi
        control = carla.VehicleControl()
        control.steer = float(np.clip(1.2 * wrong, -1.0, 1.0))
        control.throttle = 0.5 if speed < CRUISE else 0.0
        control.brake = 0.3 if speed > CRUISE + 1.0 else 0.0
        if self.journal:
            self.note(input_data, timestamp, control)
        return control

    def note(self, input_data: Any, timestamp: float, control: Any) -> None:
        frame, picture = input_data["front"]
        line = {
            "frame": frame,
            "time": round(timestamp, 3),
            "names": sorted(input_data),
            "shapes": {name: list(np.shape(value)) for name, (_, value) in input_data.items()},
            "picture": float(picture[:, :, :3].mean()),
            "gps": list(input_data["gps"][1]),
            "compass": float(input_data["imu"][1][-1]),
            "points": len(input_data["LIDAR"][1]),
            "map": len(input_data["map"][1]["opendrive"]),
            "throttle": control.throttle,
            "speed": float(input_data["speed"][1]["speed"]),
        }
        with open(self.journal, "a") as journal:  # noqa: PTH123
            journal.write(json.dumps(line) + "\n")


def to_metres(latitude: float, longitude: float) -> tuple[float, float]:
    return math.radians(latitude) * EARTH, math.radians(longitude) * EARTH
