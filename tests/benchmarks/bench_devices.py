"""A step of perception on a processor and on a GPU, and processes that share them.

A step is that of `bench_perception`, with two partners, by the clock; a GPU is waited for. Agents
are encoded one after another, as systems do, or all in one batch. Processes run side by side, as
campaigns' workers do, for as long as it takes to see how many steps all of them make in a second.
Without a GPU there are rows of the processor only.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
import torch

from agents.perception.detector import Detector
from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.loading import load_network
from agents.perception.network import choose_device
from agents.perception.raising import raise_points
from tests.benchmarks.bench_perception import Recorded, recorded, step

PARTNERS = 2
ROUNDS = 30
TIMED = ("late", "fcooper", "v2xvit")
SHARED = "v2xvit"
PROCESSES = (1, 2, 4, 8, 16)
SECONDS = 4.0
HIDDEN = "CUDA_VISIBLE_DEVICES"

Rows = list[tuple[str, str]]


def run() -> Rows:
    """Time everything, each device in processes that see no other."""
    with tempfile.TemporaryDirectory() as folder:
        scene = recorded(Path(folder))
    if not torch.cuda.is_available():
        return on_device("processor", scene)
    on_gpu = on_device("GPU", scene)
    before = os.environ.get(HIDDEN)
    os.environ[HIDDEN] = ""
    try:
        return on_device("processor", scene) + on_gpu
    finally:
        if before is None:
            del os.environ[HIDDEN]
        else:
            os.environ[HIDDEN] = before


def on_device(name: str, scene: Recorded) -> Rows:
    """Return the rows of what processes that start now compute on."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        rows = pool.apply(alone, (scene,))
    for count in (count for count in PROCESSES if count <= (os.cpu_count() or 1)):
        together, steps = context.Barrier(count), context.Queue()
        workers = [
            context.Process(target=share, args=(scene, together, steps)) for _ in range(count)
        ]
        for worker in workers:
            worker.start()
        total = sum(steps.get() for _ in workers)
        for worker in workers:
            worker.join()
        rows.append((f"{SHARED}, processes: {count}", f"{total / SECONDS:.0f} steps/s"))
    return [(f"{name}: {what}", value) for what, value in rows]


def alone(scene: Recorded) -> Rows:
    """Return what a process takes on its own."""
    rows = []
    for scheme in TIMED:
        detector = detector_of(scheme)
        took = milliseconds(partial(step, scheme, detector, scene, PARTNERS))
        rows.append((f"{scheme}, a step", f"{took:.1f} ms"))
        clouds, heights = scene.clouds[: PARTNERS + 1], scene.heights[: PARTNERS + 1]
        grid = detector.design.grid
        raised = [
            raise_points(cloud, height, grid) for cloud, height in zip(clouds, heights, strict=True)
        ]
        after = milliseconds(partial(one_by_one, detector, raised))
        batch = milliseconds(partial(all_at_once, detector, raised))
        rows.append((f"{scheme}, {len(raised)} agents, one by one", f"{after:.1f} ms"))
        rows.append((f"{scheme}, {len(raised)} agents in a batch", f"{batch:.1f} ms"))
    return rows


@torch.inference_mode()
def one_by_one(detector: Detector, raised: list[np.ndarray]) -> None:
    """Encode agents one after another."""
    for cloud in raised:
        detector.network.encode_clouds([cloud])


@torch.inference_mode()
def all_at_once(detector: Detector, raised: list[np.ndarray]) -> None:
    """Encode agents in one batch."""
    detector.network.encode_clouds(raised)


def share(scene: Recorded, together: Barrier, steps: Queue[int]) -> None:
    """Make steps as long as others do, and report how many."""
    detector = detector_of(SHARED)
    milliseconds(partial(step, SHARED, detector, scene, PARTNERS), 3)
    together.wait()
    until, done = time.perf_counter() + SECONDS, 0
    while time.perf_counter() < until:
        step(SHARED, detector, scene, PARTNERS)
        done += 1
    steps.put(done)


def detector_of(scheme: str) -> Detector:
    """Return the shipped network of a scheme at work."""
    return Detector(load_network(SCHEMES[scheme](), "lite", None, None))


def milliseconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the median by the clock, after rounds for practice."""
    spent = []
    for number in range(rounds + 3):
        start = time.perf_counter()
        work()
        if choose_device().type == "cuda":
            torch.cuda.synchronize()
        if number >= 3:
            spent.append(time.perf_counter() - start)
    return float(1e3 * np.median(spent))
