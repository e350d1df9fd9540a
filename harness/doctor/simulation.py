"""Is there something to drive in: carlite, an install of CARLA, maps; and weights to drive with."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from harness.common.errors import AttemptError, UserError
from harness.common.installation import PACKAGES, SHIPPED, install_command
from harness.doctor.children import run_code, run_python
from harness.doctor.finding import DoctorFinding, DoctorPlaces

SHIPPED_TOWN = "Crucible05"
FILES = {"configuration files": "conf/**/*.yaml", "route files": "routes/**/*.xml"}
PACKAGE_FILES = {
    "towns": "harness/carlite/towns/data/*.xodr*",
    "networks' weights": "agents/perception/weights/*.safetensors",
}
PARSE = """
import sys, carla
from pathlib import Path
path = Path(sys.argv[1])
town = carla.Map(path.stem, path.read_text(encoding="utf-8"))
print(len(town.get_topology()) or sys.exit("no road in it"))
"""


def check_cache() -> DoctorFinding:
    """Check whether what carlite compiles can be kept."""
    code, printed, complaint = run_python("-m", "harness.carlite.folders")
    folder = Path(printed.strip())
    if code:
        return DoctorFinding("compiled code", "fault", complaint, "reinstall the project")
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not is_writable(there):
        cure = "let XDG_CACHE_HOME name a folder that can be written"
        text = f"{folder} cannot be written: every start compiles for a minute or two"
        return DoctorFinding("compiled code", "warning", text, cure)
    files = sum(path.is_file() for path in folder.rglob("*"))
    if not files:
        text = f"none in {folder} yet: the first start compiles for a minute or two"
        return DoctorFinding("compiled code", "ok", text)
    return DoctorFinding("compiled code", "ok", f"{files} files in {folder}")


def is_writable(folder: Path) -> bool:
    """Return whether files can be made in a folder."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def check_carlite() -> DoctorFinding:
    """Start the embedded server and ask it whether it is there."""
    try:
        from harness.world.probe import probe_carla  # noqa: PLC0415
        from harness.world.simulators import CarliteSimulator  # noqa: PLC0415

        began = time.monotonic()
        with CarliteSimulator().lease_server(SHIPPED_TOWN) as server:
            probe_carla(server.host, server.port)
            took = time.monotonic() - began
    except ImportError as problem:
        cure = install_command("run")
        return DoctorFinding("carlite", "fault", f"cannot be started: {problem}", cure)
    except AttemptError as problem:
        cure = "see the output of `crucible serve`; the packages above may be the reason"
        return DoctorFinding("carlite", "fault", str(problem), cure)
    return DoctorFinding("carlite", "ok", f"{server.name}, {SHIPPED_TOWN}, ready in {took:.1f} s")


def check_carla(places: DoctorPlaces) -> DoctorFinding:
    """Check an install of CARLA, if one is given; campaigns on carlite need none."""
    cure = "nothing, for carlite; else unpack CARLA 0.9.16, name its folder with --root"
    if places.carla is None:
        return DoctorFinding("CARLA", "ok", "none named (--root, $CARLA_ROOT); carlite needs none")
    # whether its program is there
    try:
        from harness.world.simulators.carla_server import VERSION, find_carla_program  # noqa: PLC0415

        launcher = find_carla_program(str(places.carla), "CarlaUE4.sh")
    except ImportError as problem:
        return DoctorFinding("CARLA", "warning", f"cannot be looked at: {problem}", "see packages")
    except UserError as problem:
        return DoctorFinding(
            "CARLA", "warning", str(problem).removeprefix("simulator.root: "), cure
        )
    except OSError as problem:
        return DoctorFinding("CARLA", "warning", f"{places.carla}: {problem.strerror}", cure)
    # which version, and whether this user may start it
    has_version = (launcher.parent / "VERSION").is_file()
    version = (
        VERSION if has_version else f"no VERSION file; {VERSION} is assumed until it is started"
    )
    if os.geteuid() == 0:
        cure = "run campaigns that launch CARLA as a user other than root: it refuses root"
        return DoctorFinding("CARLA", "warning", f"{launcher}: {version}; you are root", cure)
    return DoctorFinding("CARLA", "ok", f"{launcher}: {version}")


def check_maps(places: DoctorPlaces) -> DoctorFinding:
    """Check the folder of maps: whether the client library can read one of them."""
    if places.maps is None:
        text = "none named (--maps); shipped towns need none"
        return DoctorFinding("maps", "ok", text)
    try:
        files = sorted(places.maps.glob("*.xodr"))
    except OSError as problem:
        cure = "name a folder that you may read"
        return DoctorFinding("maps", "warning", f"{places.maps}: {problem.strerror}", cure)
    cure = "save them from a running CARLA: crucible maps export --town Town03 --out DIR"
    if not files:
        return DoctorFinding("maps", "warning", f"{places.maps}: no OpenDRIVE file (*.xodr)", cure)
    names = ", ".join(file.stem for file in files)
    tried = files[0]
    code, printed, complaint = run_code(PARSE, str(tried))
    if code:
        return DoctorFinding("maps", "warning", f"{tried} cannot be read: {complaint}", cure)
    text = f"{names}; {tried.stem} has {printed.split()[-1]} pieces of lane"
    return DoctorFinding("maps", "ok", text)


def check_files() -> DoctorFinding:
    """Check whether all files that are shipped with the code are there."""
    counts = {name: len(list(SHIPPED.glob(pattern))) for name, pattern in FILES.items()}
    counts |= {name: len(list(PACKAGES.glob(pattern))) for name, pattern in PACKAGE_FILES.items()}
    missing = [name for name, count in counts.items() if not count]
    if missing:
        details = f"none in {SHIPPED}: {', '.join(missing)}"
        return DoctorFinding("files", "fault", details, "reinstall the project")
    return DoctorFinding(
        "files", "ok", ", ".join(f"{count} {name}" for name, count in counts.items())
    )
