"""Does training on what a guide keeps help? (CooTest RQ3, V2XGen RQ3, with equal budgets)

Scenarios are split in two halves. From changed scenes of one half, guides keep equal numbers of
frames or of objects; one scheme is trained further on each set, from its shipped weights, with
several seeds. A quarter of that half is held out: epochs and operating points are chosen on it. All
weights are then asked about the other half, clean and changed by every operator.

Everything is written to one folder and goes on where it was stopped: selections, runs of `crucible
train`, and a study of all weights.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.common.environments import build_child_environment
from harness.common.errors import AttemptError, UserError
from harness.common.recordings import RecordedScenario, list_scenarios
from studies.metamorphic.running.generation import (
    RANDOM_GUIDE,
    Budget,
    Done,
    GenerationSettings,
    KeepRule,
    generate_recordings,
)
from studies.metamorphic.running.study import FIRST_MOMENT, THREADS, OfflineStudy, run_study

TRAINING_GUIDES = (RANDOM_GUIDE, "vgt", "v2xgen")
BUDGETS: tuple[Budget, ...] = ("frames", "objects")
TRAIN, HELD_OUT, TEST = "train", "held-out", "test"
EVERY = 4
"""Every fourth scenario of the half that is trained on is held out."""


class StageDisplay(Protocol):
    """What is called as each stage begins."""

    def __call__(self, stage: str, scenes: int) -> AbstractContextManager[Done]:
        """Return what takes in how many scenes are done, for a stage of so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrainingExperiment:
    """What is trained on what, and tested how."""

    recordings: Path
    scheme: str
    guides: tuple[str, ...]
    operators: tuple[str, ...]  # of the changed scenes that are trained on
    tested: tuple[str, ...]  # operators of the test
    share: float  # of frames or objects that is kept
    seeds: tuple[int, ...]
    epochs: int
    peak_rate: float
    count: int  # scenes that changed ones are made of, at most
    test_count: int  # scenes of the test, at most
    trial: int  # held-out samples after each epoch
    workers: int
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrainingArm:
    """One guide with one budget and one seed."""

    guide: str
    budget: Budget
    seed: int

    @property
    def name(self) -> str:
        """Return the name of its run."""
        return f"{self.guide}-{self.budget}-{self.seed}"

    @property
    def selection(self) -> str:
        """Return the name of its selection: random ones differ by seed."""
        return self.name if self.guide == RANDOM_GUIDE else f"{self.guide}-{self.budget}"


def list_retraining_arms(experiment: RetrainingExperiment) -> list[RetrainingArm]:
    """Return all arms."""
    return [
        RetrainingArm(guide=guide, budget=budget, seed=seed)
        for guide in experiment.guides
        for budget in BUDGETS
        for seed in experiment.seeds
    ]


def split_scenarios(known: list[RecordedScenario]) -> dict[str, list[RecordedScenario]]:
    """Return scenarios to train on, to choose by and to test on; none is in two of them."""
    half, other = known[0::2], known[1::2]
    held_out = half[::EVERY]
    return {
        TRAIN: [scenario for scenario in half if scenario not in held_out],
        HELD_OUT: held_out,
        TEST: other,
    }


def split_recordings(experiment: RetrainingExperiment) -> dict[str, Path]:
    """Return folders with the scenarios of each part."""
    known = list_scenarios(experiment.recordings)
    if len(known) < EVERY:
        raise UserError(
            f"{experiment.recordings}: {len(known)} scenarios; {EVERY} or more are needed to train,"
            " to choose and to test on others"
        )
    parts = split_scenarios(known)
    # refused before anything is written or trained
    refuse_untestable(experiment.recordings, parts[TEST])
    folders = {}
    for name, chosen in parts.items():
        folders[name] = experiment.folder / name
        folders[name].mkdir(parents=True, exist_ok=True)
        for scenario in chosen:
            place_scenario(scenario, folders[name])
    return folders


def refuse_untestable(recordings: Path, tested: list[RecordedScenario]) -> None:
    """Refuse scenarios of which the test could use none: each of its scenes has earlier ones.

    Args:
        recordings: named by the refusal.
        tested: the scenarios of the test.
    """
    lengths = [
        len(scenario.list_moments(ego)) for scenario in tested for ego in scenario.list_egos()
    ]
    longest = max(lengths, default=0)
    if longest <= FIRST_MOMENT:
        raise UserError(
            f"{recordings}: the scenarios of the test have {longest} moments or fewer;"
            f" {FIRST_MOMENT + 1} or more are needed (crucible collect --looks)"
        )


def place_scenario(scenario: RecordedScenario, folder: Path) -> None:
    """Put a scenario into a folder: hard links, or copies on another disk.

    Readers follow no symbolic link inside a folder. The folder is renamed in when it is whole.
    """
    place = folder / scenario.folder.name
    if place.exists():
        return
    scratch = folder / f".{place.name}"
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(scenario.folder.resolve(), scratch, copy_function=link_or_copy)
    scratch.rename(place)


def link_or_copy(source: str, target: str) -> None:
    """Make a hard link to a file, or a copy where the disk is another one."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def run_experiment(experiment: RetrainingExperiment, display: StageDisplay) -> Path:
    """Select, train and test what is not there yet; return the folder of the test's study."""
    folders = split_recordings(experiment)
    weights = {
        arm.name: train_arm(experiment, arm, folders, display)
        for arm in list_retraining_arms(experiment)
    }
    study = make_test_study(experiment, folders[TEST], weights)
    with display("test", len(study.select_sources())) as done:
        run_study(study, experiment.workers, done)
    return study.folder


def make_test_study(
    experiment: RetrainingExperiment, scenes: Path, weights: dict[str, Path]
) -> OfflineStudy:
    """Return the test of shipped and of trained weights."""
    names = (f"{experiment.scheme}={file}" for file in weights.values())
    return OfflineStudy(
        recordings=(scenes,),
        systems=(experiment.scheme, *names),
        operators=experiment.tested,
        scenes=experiment.test_count,
        seed=1,
        folder=experiment.folder / "study",
    )


def generate_selection(
    experiment: RetrainingExperiment, arm: RetrainingArm, scenes: Path, display: StageDisplay
) -> Path:
    """Return the recording of an arm's changed scenes; write it if it is not there."""
    folder = experiment.folder / "selections" / arm.selection
    generation = GenerationSettings(
        recordings=(scenes,),
        operators=experiment.operators,
        keep=KeepRule(guide=arm.guide, share=experiment.share, budget=arm.budget),
        system=experiment.scheme,
        scenes=experiment.count,
        seed=1,
        keep_seed=arm.seed if arm.guide == RANDOM_GUIDE else 1,
        folder=folder,
        scores=experiment.folder / ".scores",
    )
    with display(f"{arm.selection}: scenes", len(generation.select_sources())) as done:
        generate_recordings(generation, experiment.workers, done)
    return folder


def train_arm(
    experiment: RetrainingExperiment,
    arm: RetrainingArm,
    folders: dict[str, Path],
    display: StageDisplay,
) -> Path:
    """Return the weights of an arm; train them if they are not there."""
    folder = experiment.folder / "weights" / arm.name
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        data = generate_selection(experiment, arm, folders[TRAIN], display)
        words = list(make_train_options(experiment, arm, data=data, held_out=folders[HELD_OUT]))
        command = [sys.executable, "-m", "agents.training", "train", *words]
        done = subprocess.run(command, check=False, env=build_child_environment(THREADS))
        files = sorted(folder.glob("*.safetensors"))
        if done.returncode or not files:
            raise AttemptError("agent_setup", f"{arm.name}: training ended with {done.returncode}")
    return files[0]


def make_train_options(
    experiment: RetrainingExperiment, arm: RetrainingArm, *, data: Path, held_out: Path
) -> Iterator[str]:
    """Yield the options of `crucible train` for an arm."""
    options = {
        "--scheme": experiment.scheme,
        "--data": data,
        "--held-out": held_out,
        "--start": experiment.scheme,
        "--epochs": experiment.epochs,
        "--peak-rate": experiment.peak_rate,
        "--seed": arm.seed,
        "--trial": experiment.trial,
        "--out": experiment.folder / "runs" / arm.name,
        "--weights": experiment.folder / "weights" / arm.name,
    }
    for name, value in options.items():
        yield from (name, str(value))
    yield from ("--whole", "--all-layers")
