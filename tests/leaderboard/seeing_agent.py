"""A privileged agent in Bench2Drive's form: it looks for its ego in the constructor."""

from __future__ import annotations

from typing import Any

import carla
from srunner.scenariomanager.carla_data_provider import (  # type: ignore[import-not-found]
    CarlaDataProvider,
)


def get_entry_point() -> str:
    return "SeeingAgent"


class SeeingAgent:
    def __init__(self, carla_host: str, carla_port: int) -> None:
        self.get_hero()

    def get_hero(self) -> None:
        actors = CarlaDataProvider.get_world().get_actors().filter("vehicle.*")
        named = [one for one in actors if one.attributes.get("role_name") == "hero"]
        self.hero_actor = named[0] if named else None

    def setup(self, path_to_conf_file: str) -> None:
        pass

    def sensors(self) -> list[dict[str, Any]]:
        return [{"type": "sensor.speedometer", "id": "speed", "reading_frequency": 20}]

    def set_global_plan(self, global_plan_gps: Any, global_plan_world_coord: Any) -> None:
        self.start = global_plan_world_coord[0][0].location

    def run_step(self, input_data: Any, timestamp: float) -> Any:
        assert self.hero_actor is not None, "it does not know its ego"
        away = self.hero_actor.get_transform().location.distance(self.start)
        return carla.VehicleControl(throttle=0.5 if away < 20.0 else 0.0)
