"""`collect_recordings`: episodes in processes of their own, with what is there already left alone.

The client library does not take several worlds in one process well, and may abort it: an episode
that is lost that way is played again.
"""

from __future__ import annotations

import math
import multiprocessing
import signal
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing.resource_tracker import ensure_running
from pathlib import Path
from threading import Event

from agents.training.recording import (
    DEFAULT_RIG,
    TICK,
    RecordingEpisode,
    SharedCount,
    count_episode_units,
    record_episode,
)
from agents.training.towns import check_towns
from harness.common.errors import AttemptError, UserError
from harness.common.pictures import PictureSettings
from harness.common.progress_bar import show_bar
from harness.common.recordings import PROTOCOL, USUAL_INTERVAL, read_protocol
from harness.common.terminal_lines import print_stdout_line
from harness.world.simulators.carlite import CarliteSimulator

TRIES = 3
LOOK_AGAIN = 0.5
"""Seconds between looks at what an episode has written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingPlan:
    """What is to be recorded."""

    out: Path
    towns: tuple[str, ...]
    scenarios: int
    seed: int
    for_testing: bool = False
    maps: str | None = None
    close_quarters: bool = False
    groups: int = 10  # scenarios of an episode
    looks: int = 4
    interval: float = USUAL_INTERVAL  # s between looks
    neighbours: int = 3
    vehicles: int = 45
    drivers: int = 70
    standing: int = 40
    cyclists: int = 60
    walkers: int = 200
    workers: int = 1  # episodes at a time
    rig: str = DEFAULT_RIG
    pictures: PictureSettings | None = None


def collect_recordings(wanted: RecordingPlan) -> None:
    """Record what is missing, town after town in turn."""
    check_towns(wanted.towns, wanted.for_testing)
    refuse_interval(wanted.interval)
    wanted.out.mkdir(parents=True, exist_ok=True)
    # what is there is kept, if it is of the same plan
    plan = plan_episodes(wanted)
    for planned in plan:
        refuse_other_episodes(wanted.out, planned)
    missing = [
        episode for episode in plan if count_written_scenarios(wanted.out, episode) < episode.groups
    ]
    simulator = CarliteSimulator(wanted.maps)
    ensure_running()  # where it starts, it would let interruptions through again
    workers = ThreadPoolExecutor(wanted.workers, initializer=block_interrupts)
    # episodes in threads, which wait for a process
    written = sum(count_written_scenarios(wanted.out, one) for one in plan)
    total = sum(planned.groups for planned in plan)
    units = sum(map(count_episode_units, missing))
    with show_bar("scenarios", total, done=written, units=units) as bar, workers as pool:
        stopping = Event()
        progress = [multiprocessing.get_context("spawn").Value("i", 0) for _ in missing]
        playing = {
            pool.submit(
                play_episode, simulator, episode, out=wanted.out, progress=count, stopping=stopping
            )
            for episode, count in zip(missing, progress, strict=True)
        }
        # count on the disk: an episode's scenarios appear there at its end
        try:
            while playing:
                done, playing = wait(playing, LOOK_AGAIN, FIRST_EXCEPTION)
                for episode in done:
                    episode.result()
                bar.show_done(sum(count_written_scenarios(wanted.out, one) for one in plan))
                bar.note_work(sum(count.value for count in progress))
        finally:
            stopping.set()
            pool.shutdown(cancel_futures=True)
    print_stdout_line(measure_recording(wanted.out, plan))


def refuse_interval(interval: float) -> None:
    """Refuse seconds between looks that are no whole number of the simulator's ticks."""
    ticks = interval / TICK
    if not (math.isfinite(ticks) and ticks >= 1 and math.isclose(ticks, round(ticks))):
        raise UserError(f"--interval {interval:g}: a multiple of {TICK} s is needed")


def measure_recording(out: Path, plan: Sequence[RecordingEpisode]) -> str:
    """Return a line on what the scenarios of a plan take on the disk."""
    folders = [file.parent for episode in plan for file in list_protocol_files(out, episode)]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    looks = sum(file.suffix == ".npy" and ".surfaces" not in file.name for file in files)
    size = sum(file.stat().st_size for file in files) / 1e6
    scenarios = "1 scenario" if len(folders) == 1 else f"{len(folders)} scenarios"
    line = f"{out}: {scenarios}, {looks} sweeps, {size:.1f} MB"
    for what in ("camera", "depth"):
        pictures = [file.stat().st_size for file in files if f"_{what}" in file.name]
        if pictures:
            line += f", {len(pictures)} {what} pictures with {sum(pictures) / 1e6:.1f} MB"
    return line


def block_interrupts() -> None:
    """Leave interruptions from the keyboard to the main thread: processes of this one get none."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def plan_episodes(wanted: RecordingPlan) -> list[RecordingEpisode]:
    """Return all episodes, as many in one town as in another."""
    plan: list[RecordingEpisode] = []
    left = wanted.scenarios
    most = min(wanted.groups, math.ceil(left / len(wanted.towns)))
    while left > 0:
        groups = min(left, most)
        left -= groups
        plan.append(
            RecordingEpisode(
                town=wanted.towns[len(plan) % len(wanted.towns)],
                number=len(plan),
                seed=wanted.seed,
                purpose="testing" if wanted.for_testing else "training",
                groups=groups,
                looks=wanted.looks,
                interval=wanted.interval,
                neighbours=wanted.neighbours,
                vehicles=wanted.vehicles,
                drivers=wanted.drivers,
                standing=wanted.standing,
                cyclists=wanted.cyclists,
                walkers=wanted.walkers,
                close_quarters=wanted.close_quarters,
                rig=wanted.rig,
                pictures=wanted.pictures,
            )
        )
    return plan


def refuse_other_episodes(out: Path, episode: RecordingEpisode) -> None:
    """Refuse to go on with scenarios that bear an episode's names and are of other scenes."""
    asked = {name: value for name, value in episode.make_record().items() if name != "groups"}
    for protocol in list_protocol_files(out, episode):
        recorded = read_protocol(protocol)
        changed = [name for name, value in asked.items() if recorded.get(name, value) != value]
        # a recording without pictures does not say so
        if (asked.get("pictures") is None) != (recorded.get("pictures") is None):
            changed.append("pictures")
        if changed:
            raise UserError(
                f"{protocol.parent}: was recorded with other {', '.join(changed)}; name another"
                " --out or --seed"
            )


def list_protocol_files(out: Path, episode: RecordingEpisode) -> list[Path]:
    """Return what the scenarios of an episode that are there say of themselves."""
    files = (out / episode.get_scenario_name(group) / PROTOCOL for group in range(episode.groups))
    return [file for file in files if file.is_file()]


def count_written_scenarios(out: Path, episode: RecordingEpisode) -> int:
    """Return how many scenarios of an episode are there."""
    return len(list_protocol_files(out, episode))


def play_episode(
    simulator: CarliteSimulator,
    episode: RecordingEpisode,
    *,
    out: Path,
    progress: SharedCount,
    stopping: Event,
) -> None:
    """Play an episode in a process of its own, on a server of its own, unless all is to stop."""
    for _ in range(TRIES):
        if stopping.is_set():
            return
        # a new server for each try
        with simulator.lease_server(episode.town) as server:
            process = multiprocessing.get_context("spawn").Process(
                target=record_episode,
                args=(episode, server.host, server.port),
                kwargs={"out": out, "progress": progress},
            )
            process.start()
            while process.is_alive():
                process.join(LOOK_AGAIN)
                if stopping.is_set():
                    process.terminate()
        if count_written_scenarios(out, episode) == episode.groups:
            progress.value = count_episode_units(episode)
            return
    raise AttemptError(
        "server_crash",
        (
            f"episode {episode.number} in {episode.town} ended early {TRIES} times; the same"
            " command resumes from there"
        ),
    )
