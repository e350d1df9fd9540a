"""A few seconds of a drive: a campaign of one route on carlite, driven by the recorder."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from agents.conformance.recorded_steps import Recording, read_recording
from harness.common.environments import build_child_environment
from harness.common.errors import AttemptError
from harness.common.nesting import parse_json
from harness.common.subprocesses import build_module_command
from harness.common.terminal_lines import print_notice

ROUTE = """<routes><route id="street" town="Crucible05">
<waypoint x="185.2" y="70.2" z="1.9" pitch="0" roll="0" yaw="0"/>
<waypoint x="209.8" y="87.5" z="2.0" pitch="0" roll="0" yaw="90"/>
</route></routes>"""
"""A street with so many road users in sight that frames differ."""
TRIES = 4
"""On a busy machine a server may time out more than once."""
NOTICE = re.compile("carlite: ")
"""Start of the lines that a server prints while it starts: they are not errors."""
RECORDER = "agents.conformance.recorder.Recorder"


def load_or_make_recording(file: Path | None) -> Recording:
    """Return the recording in a file; without one, or if it does not exist, a new one is made."""
    if file is not None:
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            record_street_drive(file)
        return read_recording(file)
    with tempfile.TemporaryDirectory() as folder:
        record_street_drive(Path(folder) / "steps.npz")
        return read_recording(Path(folder) / "steps.npz")


def record_street_drive(file: Path) -> None:
    """Drive the street once, with a roadside unit and vehicles as partners."""
    print_notice("ten planning steps are recorded on carlite first: one to two minutes")
    with tempfile.TemporaryDirectory() as folder:
        route = Path(folder) / "street.xml"
        route.write_text(ROUTE)
        command = [
            *build_module_command("crucible", "run"),
            f"routes.file={escape_for_hydra(route)}",
            "routes.hazards=null",
            "routes.only=null",
            "seeds=[1]",
            "system=[]",
            f"+system.recorder._target_={RECORDER}",
            f"+system.recorder.file={escape_for_hydra(file.absolute())}",
            "interference=none",
            "cooperation=mixed",
            "progress=plain",
            f"attempts_per_route={TRIES}",
            f"out={escape_for_hydra(Path(folder) / 'out')}",
        ]
        done = subprocess.run(
            command, env=build_child_environment(), check=False, capture_output=True, text=True
        )
        if not file.exists():
            why = find_recording_failure(done, Path(folder) / "out" / "ledger.jsonl")
            raise AttemptError("agent_exception", f"recording failed: {why}")


def find_recording_failure(done: subprocess.CompletedProcess[str], ledger: Path) -> str:
    """Return why a campaign left no recording: its last failure, or its last line on stderr."""
    tries = ledger.read_text().splitlines() if ledger.is_file() else []
    last = parse_json(tries[-1]) if tries else {"failure": None}
    if last["failure"] is not None:
        return f"{len(tries)} tries, the last one failed: {last['failure']}: {last['message']}"
    said = [line for line in done.stderr.splitlines() if line.strip() and not NOTICE.match(line)]
    if said:
        return said[-1].strip()
    if tries:
        return f"the drive ended too early ({last['message']})"
    return f"the campaign ended with exit code {done.returncode} without output"


def escape_for_hydra(path: Path) -> str:
    """Return a path quoted for Hydra, in which brackets and commas are syntax."""
    return "'" + str(path).replace("'", r"\'") + "'"
