"""The little agent, whose speed a served language model chooses.

It asks as CoLMDriver does: which models there are while it is set up, then chat completions, again
and again until there is an answer. ASKING_AGENT_URL is the address in its own configuration.
"""

from __future__ import annotations

import json
import os
import urllib.request
from typing import Any

import little_agent  # type: ignore[import-not-found]

EVERY = 10


def get_entry_point() -> str:
    return "AskingAgent"


class AskingAgent(little_agent.LittleAgent):  # type: ignore[misc]
    def setup(self, path_to_conf_file: str) -> None:
        super().setup(path_to_conf_file)
        self.url = os.environ["ASKING_AGENT_URL"]
        self.model = self.ask("/models", None)["data"][0]["id"]

    def run_step(self, input_data: Any, timestamp: float) -> Any:
        frame, reading = input_data["speed"]
        if frame % EVERY == 0:
            text = f"I drive at {reading['speed']:.2f} m/s. How fast is right?"
            message = {"role": "user", "content": [{"type": "text", "text": text}]}
            answer = self.ask("/chat/completions", {"model": self.model, "messages": [message]})
            little_agent.CRUISE = float(answer["choices"][0]["message"]["content"])
        return super().run_step(input_data, timestamp)

    def ask(self, path: str, question: Any) -> Any:
        body = None if question is None else json.dumps(question).encode()
        headers = {"Content-Type": "application/json", "Authorization": "Bearer secret"}
        request = urllib.request.Request(self.url + path, data=body, headers=headers)
        answer = None
        while answer is None:
            answer = try_once(request)
        return answer


def try_once(request: urllib.request.Request) -> Any:
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)
    except OSError as problem:
        print("error:", problem)
        return None
