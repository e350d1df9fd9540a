"""carlite behind CARLA's command line, with the faults that real servers have.

Faults come by environment variable:

    STANDIN_EXIT=TEXT     says that and ends at once
    STANDIN_SILENT=1      starts, says nothing and listens nowhere
    STANDIN_DEAF=1        does not hear SIGTERM
    STANDIN_VERSION=TEXT  reports another version

CARLA ignores arguments that it does not know, so a slip in them would go unnoticed: here they end
the start. The known ones were read in CARLA's settings; the others are Unreal Engine's.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import harness.carlite

PROJECT = "CarlaUE4"
NUMBERS = (
    "-carla-rpc-port",
    "-carla-streaming-port",
    "-carla-secondary-port",
    "-graphicsadapter",
    "-quality-level",
)
SWITCHES = ("-nosound", "-RenderOffScreen", "-nullrhi", "-benchmark")
QUALITIES = ("Low", "Epic")
DEFAULT_PORT = 2000


def fault(name: str) -> str:
    """Return what is asked of a fault, nothing if it is not wanted."""
    return os.environ.get(f"STANDIN_{name}", "")


def read(arguments: list[str]) -> dict[str, str]:
    """Return the values of CARLA's arguments, the name of the project left out."""
    values = {}
    for argument in arguments:
        name, _, value = argument.partition("=")
        known = name in NUMBERS if value else argument in (*SWITCHES, PROJECT)
        if not known:
            sys.exit(f"no argument of CARLA: {argument}")
        values[name] = value
    return values


def refuse_misfits(values: dict[str, str]) -> None:
    """End where CARLA would silently do something else."""
    port = int(values.get("-carla-rpc-port", DEFAULT_PORT))
    if int(values.get("-carla-streaming-port", port + 1)) != port + 1:
        sys.exit("the stand-in streams at the port after the one for calls only")
    if values.get("-quality-level", "Epic") not in QUALITIES:
        sys.exit("no quality level of CARLA")
    int(values.get("-graphicsadapter", 0))


def main(arguments: list[str]) -> int:
    """Start as CARLA does, with the faults that are asked for."""
    if fault("EXIT"):
        sys.exit(fault("EXIT"))
    values = read(arguments)
    refuse_misfits(values)
    print("4.26.2-0+++UE4+Release-4.26 522 0\nDisabling core dumps.", flush=True)
    if fault("DEAF"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    if fault("SILENT"):
        signal.pause()
    port = int(values.get("-carla-rpc-port", DEFAULT_PORT))
    harness.carlite.CARLA_VERSION = fault("VERSION") or harness.carlite.CARLA_VERSION
    from harness.carlite.serving import main as serve

    return serve(["--port", str(port)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
