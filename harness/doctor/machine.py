"""Is the machine fit: Python, processors, memory, disk, ports, a GPU."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from harness.common.environments import build_child_environment
from harness.doctor.children import run_code
from harness.doctor.finding import DoctorFinding, DoctorPlaces

OLDEST, NEWEST = (3, 10), (3, 12)
WORKER_GB = 1.0
"""Of memory for a worker and its carlite: half of it was measured, the rest is room."""
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Files with the memory limits of containers."""
MANY_THREADS, CLIENT_THREADS = 16, 32
"""Threads of a client that are enough for most programs' sensors, and the number to ask for."""
ATTEMPT_MB = 0.3
LEAST_GB, SCARCE_GB = 0.1, 2.0
"""Of disk: below the one nothing can be written that is worth it, below the other it will end."""
SAMPLE = 32 << 20
SLOW = 20.0
"""MB/s."""
CARLA_PORTS = range(2000, 2003)
QUERY = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
TORCH = "import torch; print(torch.__version__, torch.cuda.is_available())"


def check_python() -> DoctorFinding:
    """Check the version that CARLA's wheel was built for."""
    text = f"{platform.python_version()}, {platform.system()}"
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        cure = "make a .venv with Python 3.10, 3.11 or 3.12; CARLA's wheel supports no other"
        return DoctorFinding("python", "fault", text, cure)
    if sys.platform != "linux":
        cure = "campaigns are tested on Linux alone; elsewhere processes may outlive their runner"
        return DoctorFinding("python", "warning", text, cure)
    return DoctorFinding("python", "ok", text)


def check_memory() -> DoctorFinding:
    """Check processors and memory, and report how many workers they suffice for."""
    processors = count_processors()
    gigabytes = read_free_memory()
    if gigabytes is None:
        return DoctorFinding("processors", "ok", f"{processors} processors; memory unknown")
    workers = max(min(processors // 2, int(gigabytes / WORKER_GB)), 1)
    text = f"{processors} processors, {gigabytes:.1f} GB of memory free; good for" + (
        " one worker" if workers == 1 else f" executor.workers={workers}"
    )
    if gigabytes < WORKER_GB:
        cure = f"a worker and its simulator take about {WORKER_GB:g} GB; close something"
        return DoctorFinding("processors", "warning", text, cure)
    return DoctorFinding("processors", "ok", text)


def check_client_threads() -> DoctorFinding:
    """Check whether a client has threads enough for its sensors: by default one per processor.

    `apply_batch_sync(commands, True)` holds Python's lock while it waits for the tick. Callbacks of
    sensors wait for that lock, each in a thread; with none left nothing receives the tick.
    """
    processors = count_processors()
    text = f"{processors} in each carla.Client, as many as processors, unless it asks for more"
    if processors > MANY_THREADS:
        return DoctorFinding("client threads", "ok", text)
    cure = (
        "apply_batch_sync(commands, True) with sensors that listen or have just stopped can wait "
        f"until its time-out, on any server: carla.Client(host, port, {CLIENT_THREADS}) cures it"
    )
    return DoctorFinding("client threads", "ok", text, cure)


def count_processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def read_free_memory() -> float | None:
    """Return the memory that is free, by Linux, and within a container's limit."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    free = next((int(e.split()[1]) / 1e6 for e in lines if e.startswith("MemAvailable")), None)
    for limit in map(Path, LIMITS):
        text = limit.read_text().strip() if limit.is_file() else ""
        if free is not None and text.isdecimal():
            free = min(free, int(text) / 1e9)
    return free


def check_disk(places: DoctorPlaces) -> DoctorFinding:
    """Check whether there is room where campaigns are written, and how fast it takes them."""
    above = (places.out, *places.out.resolve().parents)
    folder = next(parent for parent in above if os.path.isdir(parent))  # noqa: PTH112 - or not ours to see
    try:
        speed = measure_write_speed(folder)
        free = shutil.disk_usage(folder).free / 1e9
    except OSError as problem:
        cure = "choose another place with out=DIR, or make room"
        return DoctorFinding("disk", "fault", f"{folder}: {problem.strerror}", cure)
    text = f"{free:.1f} GB free in {folder}, {speed:.0f} MB/s"
    cure = f"an attempt takes about {ATTEMPT_MB:g} MB; make room, or choose another out=DIR"
    if free < LEAST_GB:
        return DoctorFinding("disk", "fault", text, cure)
    if free < SCARCE_GB:
        return DoctorFinding("disk", "warning", text, cure)
    if speed < SLOW:
        return DoctorFinding("disk", "warning", text, "choose an out=DIR on a faster disk")
    return DoctorFinding("disk", "ok", text)


def measure_write_speed(folder: Path) -> float:
    """Return MB/s of writing a file until it is on the disk."""
    data = os.urandom(SAMPLE)
    with tempfile.TemporaryFile(dir=folder) as file:
        began = time.perf_counter()
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
        return SAMPLE / 1e6 / (time.perf_counter() - began)


def check_ports() -> DoctorFinding:
    """Check whether servers can listen on this machine, and who is where CARLA would be."""
    try:
        with socket.create_server(("127.0.0.1", 0)):
            taken = [str(port) for port in CARLA_PORTS if not is_port_free(port)]
    except OSError as problem:
        cure = "allow programs to listen on 127.0.0.1"
        return DoctorFinding("ports", "fault", f"cannot listen: {problem.strerror}", cure)
    if taken:
        text = f"taken: {', '.join(taken)}; carlite and launched CARLAs choose others"
        return DoctorFinding("ports", "ok", text)
    return DoctorFinding("ports", "ok", f"{CARLA_PORTS[0]} to {CARLA_PORTS[-1]} are free")


def is_port_free(port: int) -> bool:
    """Return whether a server could listen there."""
    try:
        with socket.create_server(("127.0.0.1", port)):
            return True
    except OSError:
        return False


def check_gpu() -> Iterator[DoctorFinding]:
    """Check for a GPU, and whether torch sees it; carlite needs neither."""
    cure = "nothing, for carlite; CARLA itself needs an NVIDIA GPU with its driver"
    # the driver
    try:
        listed = subprocess.run(
            QUERY,
            env=build_child_environment(),
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
        yield DoctorFinding("GPU", "ok", "; ".join(listed.stdout.strip().splitlines()))
    except FileNotFoundError:
        yield DoctorFinding("GPU", "warning", "none reported by nvidia-smi", cure)
    except (OSError, subprocess.SubprocessError) as problem:
        yield DoctorFinding("GPU", "warning", f"nvidia-smi: {problem}", cure)
    # torch, in a process of its own: loading takes seconds and may crash
    if find_spec("torch") is None:
        yield DoctorFinding("torch", "ok", "not installed; only learned systems need it")
        return
    code, printed, complaint = run_code(TORCH)
    if code:
        cure = "reinstall torch; only learned systems need it"
        yield DoctorFinding("torch", "warning", f"does not load: {complaint}", cure)
        return
    version, cuda = printed.split()
    yield DoctorFinding(
        "torch", "ok", f"{version}, {'with' if cuda == 'True' else 'without'} a GPU"
    )
