"""A few seconds of a real drive: a campaign of one route, driven by the scribe on carlite."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from agents.conformance.moments import Recording, read
from harness.errors import AttemptError
from harness.nesting import parse_json
from harness.subprocesses import module_command

ROUTE = """<routes><route id="street" town="Crucible05">
<waypoint x="185.2" y="70.2" z="1.9" pitch="0" roll="0" yaw="0"/>
<waypoint x="209.8" y="87.5" z="2.0" pitch="0" roll="0" yaw="90"/>
</route></routes>"""
"""A street with so many road users in sight that boxes of a wrong frame are noticed."""
TRIES = 4
"""On a busy machine a server may be late more than once."""
NOTICE = re.compile("carlite: ")
"""How lines begin that a server prints while it starts: they are no cause of anything."""
SCRIBE = "agents.conformance.scribe.Scribe"


def recorded(file: Path | None) -> Recording:
    """Return the recording in a file; it is made if it is not there, or if none is named."""
    if file is not None:
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            record(file)
        return read(file)
    with tempfile.TemporaryDirectory() as folder:
        record(Path(folder) / "moments.npz")
        return read(Path(folder) / "moments.npz")


def record(file: Path) -> None:
    """Drive the street once, with a unit and vehicles as partners."""
    with tempfile.TemporaryDirectory() as folder:
        route = Path(folder) / "street.xml"
        route.write_text(ROUTE)
        command = [
            *module_command("crucible", "run"),
            f"routes.file={quoted(route)}",
            "routes.hazards=null",
            "routes.only=null",
            "seeds=[1]",
            "system=[]",
            f"+system.scribe._target_={SCRIBE}",
            f"+system.scribe.file={quoted(file.absolute())}",
            "interference=none",
            "cooperation=mixed",
            "progress=plain",
            f"attempts_per_route={TRIES}",
            f"out={quoted(Path(folder) / 'out')}",
        ]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if not file.exists():
            why = cause(done, Path(folder) / "out" / "ledger.jsonl")
            raise AttemptError("agent_exception", f"the street was not recorded: {why}")


def cause(done: subprocess.CompletedProcess[str], ledger: Path) -> str:
    """Return why a campaign has left no recording: how its last try ended, or what it said last."""
    tries = ledger.read_text().splitlines() if ledger.is_file() else []
    last = parse_json(tries[-1]) if tries else {"failure": None}
    if last["failure"] is not None:
        return f"{len(tries)} tries, the last one failed: {last['failure']}: {last['message']}"
    said = [each for each in done.stderr.splitlines() if each.strip() and not NOTICE.match(each)]
    if said:
        return said[-1].strip()
    if tries:
        return f"the drive ended too soon ({last['message']})"
    return f"the campaign ended with exit code {done.returncode} and said nothing"


def quoted(path: Path) -> str:
    """Return a path as Hydra takes any: brackets, commas and accents mean something to it."""
    return "'" + str(path).replace("'", r"\'") + "'"
