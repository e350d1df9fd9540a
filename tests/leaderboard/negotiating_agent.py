"""An agent in CoLMDriver's form: one model plans from a picture, another negotiates.

It is of V2Xverse's form, asks every fourth step, and gives a dict of its last controls in between.
Each model has an address of its own, in NEGOTIATING_AGENT_URLS. The planner is sent text and a
picture as a data URL; the negotiator is asked for a message of each vehicle, for each vehicle's
speed as JSON, and for a score. With one ego, the second vehicle is made up.
"""

from __future__ import annotations

import base64
import json
import os
import re
import urllib.request
from typing import Any

import carla
from leaderboard.autoagents.autonomous_agent import (  # type: ignore[import-not-found]
    AutonomousAgent,
)
from srunner.scenariomanager.carla_data_provider import (  # type: ignore[import-not-found]
    CarlaDataProvider,
)

SKIPPED = 4
PLAN = (
    "Communication suggestion: {suggestion}\nCurrent Speed: {speed:.2f} m/s\n"
    "Provide the speed intention, include STOP, FASTER, SLOWER, KEEP."
)
SPEAK = (
    "  - Vehicle (ID: {other}): 8.0 meters at your left\n**Conversation History**\n{said}\n"
    "You are Vehicle {ego}, the message you want to negotiate with other cars is:"
)
SUM = "Your task: classify each vehicle's speed change.\nInput proposal:\n{said}\nAnswer as JSON."
SCORE = "Conversation:\n{said}\nConsensus score: int"
THROTTLES = {"FASTER": 0.6, "KEEP": 0.4, "SLOWER": 0.2, "STOP": 0.0}


def get_entry_point() -> str:
    return "NegotiatingAgent"


class NegotiatingAgent(AutonomousAgent):  # type: ignore[misc]
    def setup(self, path_to_conf_file: str, ego_vehicles_num: int) -> None:
        self.agent_name = "pnp"
        self.planner, self.negotiator = os.environ["NEGOTIATING_AGENT_URLS"].split()
        self.models = {
            url: ask(f"{url}/models")["data"][0]["id"]
            for url in (self.planner, self.negotiator, self.negotiator)
        }
        self.controls: dict[int, Any] = {}
        self.egos = range(ego_vehicles_num)
        self.count = -1

    def sensors(self) -> list[dict[str, Any]]:
        at = {"x": 1.3, "y": 0.0, "z": 2.3, "roll": 0.0, "pitch": 0.0, "yaw": 0.0}
        camera = {"type": "sensor.camera.rgb", "width": 32, "height": 16, "fov": 100}
        return [
            {**camera, "id": "rgb_front", **at},
            {"type": "sensor.speedometer", "id": "speed", "reading_frequency": 20},
        ]

    def run_step(self, data: Any, timestamp: float) -> Any:
        self.count += 1
        if self.count % SKIPPED:
            return self.controls
        agreed = self.negotiate() if self.count % (2 * SKIPPED) == 0 else {}
        for ego in self.egos:
            there = CarlaDataProvider.get_hero_actor(hero_id=ego) is not None
            assert there == (f"rgb_front_{ego}" in data)
            if there:
                speed = data[f"speed_{ego}"][1]["move_state"]["speed"]
                picture = data[f"rgb_front_{ego}"][1]
                chosen = self.plan(picture, speed.tolist(), agreed.get(ego))
                self.controls[ego] = carla.VehicleControl(throttle=THROTTLES[chosen])
        return [self.controls[ego] for ego in self.egos]

    def plan(self, picture: Any, speed: float, agreed: str | None) -> str:
        url = "data:image/jpeg;base64," + base64.b64encode(picture.tobytes()).decode()
        text = PLAN.format(speed=speed, suggestion=agreed or "No interaction now")
        parts = [make_text(text), {"type": "image_url", "image_url": {"url": url}}]
        return self.chat(self.planner, parts, max_tokens=4)

    def negotiate(self) -> dict[int, str]:
        said: list[str] = []
        for ego in range(max(2, len(self.egos))):
            other = 1 if ego == 0 else 0
            text = SPEAK.format(ego=ego, other=other, said="\n".join(said) or "None")
            message = self.chat(self.negotiator, [make_text(text)])
            said.append(f"- Vehicle {ego}: '{message}'")
        lines = "\n".join(said)
        speeds = json.loads(self.chat(self.negotiator, [make_text(SUM.format(said=lines))]))
        judged = self.chat(self.negotiator, [make_text(SCORE.format(said=lines))])
        score = re.search(r"Consensus score: (\d+)", judged)
        assert score is not None
        assert int(score[1]) == 100
        assert speeds["1"]["speed"] == "STOP"
        return {int(ego): str(agreed["speed"]) for ego, agreed in speeds.items()}

    def chat(self, url: str, parts: list[dict[str, Any]], max_tokens: int = 256) -> str:
        messages = [{"role": "user", "content": parts}]
        question = {"model": self.models[url], "messages": messages, "max_tokens": max_tokens}
        answer = ask(f"{url}/chat/completions", question)
        return str(answer["choices"][0]["message"]["content"])


def make_text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def ask(url: str, question: Any = None) -> Any:
    body = None if question is None else json.dumps(question).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer EMPTY"}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as response:
        return json.load(response)
