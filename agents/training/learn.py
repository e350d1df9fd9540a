"""`train`: a scheme's network learns from a recording.

After every epoch the averaged weights are tried on held-out scenarios, as the system that would
drive with them; the best are kept, and the run is written down so that the same command goes on
from there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from rich.progress import Progress
from torch import Tensor

from agents.perception.designs import design_of
from agents.perception.folding import channels_side_by_side
from agents.perception.loading import file_name
from agents.perception.network import Network, one_thread
from agents.training.asking import answer_of, system_of
from agents.training.cards import card_of
from agents.training.forward import ONE_CLOUD, run
from agents.training.judging import headline, judge
from agents.training.layout import Scenario, scenarios
from agents.training.learning import Average, batches, rate
from agents.training.lesson import Lesson, exercise, part, told_apart
from agents.training.losses import loss
from agents.training.samples import Samples
from agents.training.weights import begin_from, save, save_state
from harness.errors import UserError
from harness.randomness import derived_seed, stream

STATE = "state.pt"
ELSEWHERE = "name another --out, or remove it to begin anew"
LARGEST_GRADIENT = 10.0
AVERAGE_MEMORY = 0.998


@dataclass(slots=True)
class Run:
    """A training run between two steps."""

    lesson: Lesson
    network: Network
    optimiser: torch.optim.Optimizer
    average: Average
    told_apart: dict[str, Any]  # by which this lesson is known from others
    epoch: int = 0
    seconds: float = 0.0
    best: float = -1.0
    best_state: dict[str, Tensor] = field(default_factory=dict)
    curve: list[dict[str, float]] = field(default_factory=list)

    def write(self) -> None:
        """Write everything that the next epoch needs."""
        told = {
            "lesson": self.told_apart,
            "network": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "average": self.average.state,
            "epoch": self.epoch,
            "seconds": self.seconds,
            "best": self.best,
            "best_state": self.best_state,
            "curve": self.curve,
        }
        save_state(self.lesson.out / STATE, told)

    def go_on(self) -> None:
        """Go on where an earlier run stopped, if one did."""
        path = self.lesson.out / STATE
        if path.is_file():
            told = read_state(path)
            refuse_other(path, told.get("lesson"), self.told_apart)
            self.network.load_state_dict(told["network"])
            self.optimiser.load_state_dict(told["optimiser"])
            self.average.load(told["average"])
            for name in ("epoch", "seconds", "best", "best_state", "curve"):
                setattr(self, name, told[name])


def read_state(path: Path) -> dict[str, Any]:
    """Return what an earlier run wrote."""
    try:
        told: dict[str, Any] = torch.load(path, weights_only=True)
    except Exception as problem:  # whatever a file can provoke
        first = str(problem).partition("\n")[0].partition(". ")[0] or type(problem).__name__
        raise UserError(f"{path}: cannot be read ({first}); {ELSEWHERE}") from None
    return told


def refuse_other(path: Path, known: dict[str, Any] | None, asked: dict[str, Any]) -> None:
    """Refuse to go on with what is not the same lesson."""
    if known is None:
        raise UserError(f"{path}: written before runs said which lesson they were of; {ELSEWHERE}")
    if changed := sorted(name for name in asked if known.get(name) != asked[name]):
        names = ", ".join(f"--{name.replace('_', '-')}" for name in changed)
        raise UserError(f"{path}: of a lesson with other {names}; {ELSEWHERE}")


def train(lesson: Lesson) -> Run:
    """Learn, and write the best weights with their card."""
    one_thread()
    recorded = for_training(lesson.data)
    samples = Samples(recorded, units=lesson.alone, first_moment=int(lesson.interference))
    held_out = Samples(for_training(lesson.held_out), units=False)
    shown = min(len(samples), lesson.most or len(samples))
    if shown < lesson.batch:
        most = "" if lesson.most is None else f", of which --most shows {lesson.most},"
        raise UserError(f"{lesson.data[0]}: {len(samples)} samples{most} are fewer than a batch")
    lesson.out.mkdir(parents=True, exist_ok=True)
    current = begin(lesson)
    with Progress() as progress:
        bar = progress.add_task(lesson.scheme, total=lesson.epochs * shown)
        while current.epoch < lesson.epochs:
            learn_epoch(current, samples, lambda done: progress.update(bar, completed=done))
            tell(current, try_out(current, held_out), progress)
            current.write()
    save(
        lesson.weights / file_name(lesson.scheme, "lite"),
        current.best_state,
        card(current, recorded, len(samples)),
    )
    return current


def for_training(folders: list[Path]) -> list[Scenario]:
    """Return what was recorded; refuse recordings that are for testing."""
    recorded = [each for folder in folders for each in scenarios(folder)]
    for each in recorded:
        if each.purpose != "training":
            raise UserError(f"{each.folder}: was recorded for testing: nobody may train on it")
    return recorded


def begin(lesson: Lesson) -> Run:
    """Return a run at its beginning, or where it stopped."""
    torch.manual_seed(derived_seed(lesson.seed, "weights"))
    network = Network(lesson.scheme, design_of(lesson.scheme, "lite"))
    channels_side_by_side(network)
    if lesson.start is not None:
        begin_from(network, lesson.start)
    optimiser = torch.optim.AdamW(network.parameters(), weight_decay=0.01)
    current = Run(lesson, network, optimiser, Average(network, AVERAGE_MEMORY), told_apart(lesson))
    current.go_on()
    return current


def learn_epoch(current: Run, samples: Samples, tell_progress: Callable[[int], None]) -> None:
    """Go once through all samples."""
    lesson, network = current.lesson, current.network
    random = stream(lesson.seed, "epoch", str(current.epoch))
    torch.manual_seed(derived_seed(lesson.seed, "dropout", str(current.epoch)))
    began, losses = time.perf_counter(), []
    shown = min(len(samples), lesson.most or len(samples))
    steps = shown // lesson.batch
    ready(network, lesson)
    for number, chosen in enumerate(batches(len(samples), shown, lesson.batch, random)):
        step = current.epoch * steps + number
        for group in current.optimiser.param_groups:
            group["lr"] = rate(step, lesson.epochs * steps, lesson.peak_rate)
        if lesson.scheme in ONE_CLOUD:
            network.pillar_vfe.grid = part(network.design.grid, random)
        inputs, targets = zip(
            *(exercise(lesson, network, samples, each, random) for each in chosen), strict=True
        )
        losses.append(learn(current, loss(run(network, inputs), targets)))
        current.average.update(network, step)
        tell_progress((step + 1) * lesson.batch)
    current.epoch += 1
    current.seconds += time.perf_counter() - began
    current.curve.append({"epoch": current.epoch, "loss": sum(losses) / len(losses)})


def ready(network: Network, lesson: Lesson) -> None:
    """Let a network learn: all of it, or what comes after the encoder and the backbone."""
    network.train()
    if lesson.freeze:
        for part_of_it in (network.pillar_vfe, network.backbone):
            part_of_it.eval().requires_grad_(False)


def learn(current: Run, wrong: Tensor) -> float:
    """Take a step down."""
    current.optimiser.zero_grad()
    torch.autograd.backward(wrong)
    torch.nn.utils.clip_grad_norm_(current.network.parameters(), LARGEST_GRADIENT)
    current.optimiser.step()
    return wrong.item()


def try_out(current: Run, held_out: Samples) -> dict[str, float]:
    """Return the precision of the averaged weights on held-out samples, spread evenly."""
    lesson = current.lesson
    tried = lesson.out / "tried.safetensors"
    save(tried, current.average.state, {"epoch": current.epoch})
    system = system_of(lesson.scheme, tried)
    every = max(1, len(held_out) // lesson.trial)
    table = judge(
        lambda sample: answer_of(system, sample),
        (held_out.sample(number) for number in range(0, len(held_out), every)),
        system.detector.design.grid,
    )
    return headline(table, lesson.visible)


def tell(current: Run, precision: dict[str, float], progress: Progress) -> None:
    """Keep the best, and print a line for this epoch."""
    current.curve[-1].update(precision)
    known = [each for each in precision.values() if not math.isnan(each)]
    mean = sum(known) / len(known) if known else 0.0
    if mean > current.best:
        current.best = mean
        current.best_state = {name: each.clone() for name, each in current.average.state.items()}
    last = current.curve[-1]
    told = "  ".join(f"{name} {value:.3f}" for name, value in precision.items())
    progress.console.print(f"epoch {current.epoch}: loss {last['loss']:.3f}  AP@0.5 {told}")


def card(current: Run, recorded: list[Scenario], samples: int) -> dict[str, Any]:
    """Return what the weights are, for whoever finds them."""
    lesson = current.lesson
    told = card_of(lesson, recorded, samples)
    shown = current.epoch * told["samples an epoch"]
    return {
        **told,
        "parameters": current.network.parameters_in_all,
        "ms per sample": round(1000 * current.seconds / shown, 1),
        "best on held-out scenarios": {"truth visible to": lesson.visible, "mean": current.best},
        "curve": current.curve,
    }
