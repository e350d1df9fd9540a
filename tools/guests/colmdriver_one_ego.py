"""CoLMDriver's agent, unchanged, for one ego: the folder of its log is made.

`colmdriver_action.py` writes `nego.json` at every step into a folder that it makes when it compares
the plans of two egos. With one ego nothing makes the folder, and the agent ends at its first step
with `FileNotFoundError`. This file is given as the agent, from the agent's own Python.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

if __name__ == "__main__":
    print(
        "colmdriver_one_ego.py is no command: give it as the agent,"
        " system.leaderboard_agent_privileged.agent=…/colmdriver_one_ego.py",
        file=sys.stderr,
    )
    raise SystemExit(2)

AGENT: Any = importlib.import_module("team_code.colmdriver_agent")


def get_entry_point() -> str:
    """Return the name of the class, as the Leaderboard asks for it."""
    return "OneEgo"


class OneEgo(AGENT.PnP_Agent):  # type: ignore[misc]  # a class of the checkout
    """Does what CoLMDriver's agent does."""

    def setup(self, path_to_conf_file: str, ego_vehicles_num: int) -> None:
        """Set the agent up, and make the folder of its log."""
        super().setup(path_to_conf_file, ego_vehicles_num)
        self.infer.log_path.mkdir(exist_ok=True)
