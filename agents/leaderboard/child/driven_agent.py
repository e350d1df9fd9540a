"""An agent of CARLA's Leaderboard 1 or 2: imported, set up, asked at every tick.

Standard library and numpy only, Python 3.7 or newer: the module is read by the agent's own Python.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np

MAP = "sensor.opendrive_map"
SPEED = "sensor.speedometer"
METHODS = ("setup", "sensors", "run_step", "set_global_plan")
EGOS = "ego_vehicles_num"
"""What `setup` takes, too, in V2Xverse's form of Leaderboard 1, which steers a list of egos."""
WORLD_PATIENCE = 10.0
"""Seconds in which the world that an agent opened shows the tick of its sensors."""


class DrivenAgent:
    """One agent, from its import to its end.

    Args:
        words: `root`, `agent` (file), `name` of its class or nothing, `paths` to import from, and
            whether it `opens_world`.

    Attributes:
        asked: the agent's method that was called last, and its class.
        notes: what was put in the place of what its Python lacks.
    """

    def __init__(self, words: dict[str, Any]) -> None:
        # our own modules first, then out of the way of the agent's
        self._stand_ins: Any = importlib.import_module("stand_ins")
        self._geodesy: Any = importlib.import_module("geodesy")
        self._carla_data: Any = importlib.import_module("carla_data")
        model_redirect: Any = importlib.import_module("model_redirect")
        self._substitutes: Any = importlib.import_module("substitutes")
        self._substitutes.restore_numpy_names()
        ours = [sys.path.pop(0), sys.path.pop(0)]
        sys.path[:0] = words["paths"]
        sys.path += ours
        os.chdir(words["root"])
        model_redirect.redirect_model_servers(words.get("model_servers", []))
        self.notes: list[str] = self._stand_ins.put_stand_ins(self._carla_data)
        self._opens_world = bool(words["opens_world"])
        if not self._opens_world:
            self._stand_ins.close_world()
        self._carla: Any = sys.modules["carla"]
        self._named = find_agent_class(words["agent"], words["name"])
        self.asked: tuple[Any, ...] = (self._named,)
        setup = getattr(self._named, "setup", None)
        self._lists_egos = callable(setup) and EGOS in inspect.signature(setup).parameters
        if "torch" in sys.modules:
            self._substitutes.send_cuda_to_processor()
        self._restore_names()
        self._agent: Any = None
        self._world: Any = None

    def begin(self, words: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
        """Set the agent up with its route; return the sensors that it wants."""
        self._seed(words["seed"])
        self._map = arrays["opendrive"].tobytes().decode("utf-8")
        self._first_frame, self._first_time = None, 0.0
        self._present: list[int] = []
        self._egos = range(words["egos"])
        self.asked = (self._named,)
        if len(self._egos) > 1 and not self._lists_egos:
            raise TypeError(f"{self._named.__name__} steers one ego: its setup takes no {EGOS}")
        self._last = {number: self._carla.VehicleControl() for number in self._egos}
        self._server: Any = words.get("server")
        if self._server is not None:
            self._open_world(self._server)
        if not self._opens_world:
            self._show_egos(list(self._egos))
        plans = [
            self._make_plan(arrays[f"route {number}"], arrays[f"options {number}"])
            for number in self._egos
        ]
        self._set_up(words["config"], plans)
        self._restore_names()
        self.asked = (self._named.sensors, self._named)
        listed = list(self._agent.sensors())
        self._maps = [spec["id"] for spec in listed if spec.get("type") == MAP]
        plain = [to_plain_words(spec) for spec in listed]
        if not self._lists_egos:
            return {"sensors": plain}
        # V2Xverse mounts other LiDARs by the agent's name
        return {"sensors": plain, "agent_name": str(getattr(self._agent, "agent_name", ""))}

    def step(self, words: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
        """Give the agent a tick of its sensors; return its pedals, wheel and gear."""
        if self._first_frame is None:
            self._first_frame, self._first_time = words["frame"], words["time"]
        frame = words["frame"] - self._first_frame
        timestamp = words["time"] - self._first_time
        if self._world is not None:
            self._stand_ins.follow_world(self._world, self._server, words["frame"], WORLD_PATIENCE)
            if self._first_frame == words["frame"]:
                self._show_ego()
        self._show_egos(words["egos"])
        self._stand_ins.set_clock(frame, timestamp)
        # as its SensorInterface would give it; V2Xverse's has the ego's number in each name
        ends = {number: f"_{number}" if self._lists_egos else "" for number in words["egos"]}
        data = {
            name + end: (frame, {"opendrive": self._map})
            for name in self._maps
            for end in ends.values()
        }
        for number, name, kind in words["readings"]:
            value = arrays[f"{number} {name}"]
            read = self._read_speed(np.float64(value[0])) if kind == SPEED else value.copy()
            data[name + ends[number]] = (frame, read)
        self.asked = (self._named.run_step, self._named)
        answer = self._agent.run_step(data, timestamp)
        if not self._lists_egos:
            return {"controls": [[0, to_control_words(answer)]]}
        # an entry that is no control leaves the last one, as in V2Xverse's scenario manager
        given = take_controls(answer, len(self._egos))
        self._last.update({number: given[number] for number in self._egos if given[number]})
        return {
            "controls": [[number, to_control_words(self._last[number])] for number in words["egos"]]
        }

    def close(self, words: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
        """Let the agent clean up."""
        destroy = getattr(self._agent, "destroy", None)
        if destroy is not None:
            destroy()
        return {}

    def _restore_names(self) -> None:
        """Give back what a newer package than the agent's lacks, once the package is imported."""
        if "matplotlib" in sys.modules:
            self._substitutes.restore_matplotlib_names()

    def _show_ego(self) -> None:
        """Let the agent find its ego, now that the world has shown a tick."""
        # Bench2Drive's base class looks for it in the constructor, before this client saw a tick
        if getattr(self._agent, "hero_actor", self) is None and hasattr(self._agent, "get_hero"):
            self._agent.get_hero()

    def _show_egos(self, present: list[int]) -> None:
        """Let an agent of V2Xverse's form ask for the egos that drive in this tick."""
        if not self._lists_egos:
            return
        if self._world is None:
            self._stand_ins.number_egos({n: self._stand_ins.HiddenEgo() for n in present})
            return
        if present != self._present:
            actors = {n: self._world.get_actor(self._server["egos"][n]) for n in present}
            self._stand_ins.number_egos(actors)
            self._present = present

    def _read_speed(self, speed: Any) -> dict[str, Any]:
        """Return what the speedometer gives, m/s: a number of numpy's, as in the Leaderboard."""
        read: dict[str, Any] = {"speed": speed}
        if self._lists_egos:
            read["move_state"] = {"speed": speed}
        return read

    def _set_up(self, config: str, plans: list[Any]) -> None:
        """Make the agent in the form of its own Leaderboard, with its routes and its settings."""
        for method in METHODS:
            if not callable(getattr(self._named, method, None)):
                raise TypeError(f"{self._named.__name__} has no {method}")
        settings: tuple[Any, ...] = (config,)
        plan = plans[0]
        if self._lists_egos:
            # GPS of all egos, then transforms of all egos
            settings, plan = (config, len(plans)), tuple(map(list, zip(*plans)))  # noqa: B905
        agent = self._named.__new__(self._named)
        called: list[bool] = []
        original = agent.setup

        def set_up_once(*given: Any, **named: Any) -> Any:
            called.append(True)
            return original(*given, **named)

        # Leaderboard 1 sets up in the constructor, with the configuration; 2 has the server there
        agent.setup = set_up_once
        names = list(inspect.signature(self._named.__init__).parameters)
        if any("host" in name for name in names):
            server = self._server or {"host": "", "port": 0}
            agent.__init__(server["host"], server["port"])
        elif len(names) > 1:
            agent.__init__(*settings)
        else:
            agent.__init__()
        del agent.setup
        agent.set_global_plan(*plan)
        if not called:
            agent.setup(*settings)
        self._agent = agent

    def _make_plan(self, route: Any, options: Any) -> Any:
        """Return the route as GPS and as transforms, each with what to do there."""
        road_option: Any = importlib.import_module("agents.navigation.local_planner").RoadOption
        reference = self._geodesy.read_reference(self._map)
        gps, world = [], []
        for (x, y, z, yaw), option in zip(route.tolist(), options.tolist()):  # noqa: B905
            place = self._carla.Location(x=x, y=y, z=z)
            transform = self._carla.Transform(place, self._carla.Rotation(yaw=yaw))
            latitude, longitude = self._geodesy.to_degrees(reference, x, y)
            what = road_option(option)
            gps.append(({"lat": latitude, "lon": longitude, "z": z}, what))
            world.append((transform, what))
        return gps, world

    def _open_world(self, server: dict[str, Any]) -> None:
        """Connect to the server, and let the agent's data provider know the world."""
        client = self._carla.Client(server["host"], server["port"])
        client.set_timeout(60.0)
        self._world = client.get_world()
        self._stand_ins.provide_world(client, self._world)

    def _seed(self, seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed)
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.manual_seed(seed)


def find_agent_class(file: str, name: Any) -> Any:
    """Return the class of an agent, by its name or by what `get_entry_point` says."""
    path = Path(file)
    spec: Any = importlib.util.spec_from_file_location(path.stem, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    if name is None:
        entry = getattr(module, "get_entry_point", None)
        if entry is None:
            raise AttributeError(f"{path.name} has no get_entry_point")
        name = entry()
    if not isinstance(getattr(module, str(name), None), type):
        raise AttributeError(f"{path.name} has no class {name}")
    return getattr(module, name)


def to_plain_words(spec: Any) -> dict[str, Any]:
    """Return a sensor's entry with numbers and texts only."""
    plain: dict[str, Any] = {}
    for name, value in spec.items():
        if isinstance(value, (str, bool)) or value is None:
            plain[str(name)] = value
        elif hasattr(value, "__float__"):
            plain[str(name)] = float(value)
        else:
            plain[str(name)] = str(value)
    return plain


def take_controls(controls: Any, count: int) -> Any:
    """Return each ego's control by its number, out of what an agent of V2Xverse's form gives.

    That is a list, or a dict by the ego's number: V2Xverse's scenario manager takes both, and
    CoLMDriver's agent gives both.
    """
    if isinstance(controls, (list, tuple)) and len(controls) == count:
        return dict(enumerate(controls))
    if isinstance(controls, dict) and set(controls) == set(range(count)):
        return controls
    many = "one control" if count == 1 else f"{count} controls"
    raise TypeError(f"run_step returned {type(controls).__name__}, not a list of {many}")


def to_control_words(control: Any) -> dict[str, Any]:
    """Return what is in a `VehicleControl`."""
    needed = ("throttle", "steer", "brake")
    if not all(hasattr(control, name) for name in needed):
        raise TypeError(f"run_step returned {type(control).__name__}, not a VehicleControl")
    return {
        "control": [float(getattr(control, name)) for name in needed],
        "reverse": bool(getattr(control, "reverse", False)),
        "hand_brake": bool(getattr(control, "hand_brake", False)),
    }
