"""`train_network`: train the network of a scheme on recordings.

After every epoch the averaged weights are evaluated on held-out scenarios, in the system that would
drive with them; the best are kept, and a checkpoint is written from which the same command resumes.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agents.perception.cameras.network import SeeingNetwork
from agents.perception.cameras.systems import CAMERA_FOLDER, make_seeing_system
from agents.perception.designs import Size
from agents.perception.detector import set_weights_channels_last
from agents.perception.fusion.base import FusionModule
from agents.perception.fusion.catalogue import SCHEMES, is_shipped
from agents.perception.loading import FOLDER, get_weight_file_name
from agents.perception.network import PerceptionNetwork, choose_device, set_one_thread
from agents.perception.operating_point import OperatingPoint
from agents.perception.systems import NetworkSystem, make_network_system
from agents.training.detection_metrics import evaluate_detections, select_headline
from agents.training.examples import (
    crop_grid,
    has_one_cloud,
    make_training_example,
    run_network_batch,
)
from agents.training.inference import detect_in_sample
from agents.training.losses import compute_loss
from agents.training.memory import keep_memory
from agents.training.operating import choose_operating_point, make_zero_thresholds
from agents.training.samples import EgoSample, RecordedSamples
from agents.training.seeing import (
    choose_seeing_points,
    compute_seeing_batch_loss,
    set_seeing_trainable,
    start_seeing_network,
)
from agents.training.towns import refuse_for_training
from agents.training.training_config import TrainingConfig, make_run_identity
from agents.training.weight_files import (
    load_shared_layers,
    make_training_card,
    save_state,
    save_weights,
)
from harness.common.errors import UserError
from harness.common.kernels import get_processor_name
from harness.common.progress_bar import show_bar
from harness.common.randomness import derive_seed, make_named_stream
from harness.common.recordings import RecordedScenario, list_scenarios
from harness.common.safe_reading import CHECKPOINT, open_regular, refuse_inflating
from harness.types.vocabulary import Boxes

STATE = "state.pt"
ELSEWHERE = "name another --out, or remove the file to start again"
LARGEST_GRADIENT = 10.0
AVERAGE_MEMORY = 0.998
WARM_UP = 0.05
"""Share of all steps in which the learning rate rises."""
FINAL_RATE = 0.01
"""Share of the peak that is left at the end."""


@dataclass(slots=True, kw_only=True)
class TrainingRun:
    """A training run between two steps."""

    config: TrainingConfig
    network: PerceptionNetwork
    optimiser: torch.optim.Optimizer
    average: WeightAverage
    identity: dict[str, Any]  # by which this run is known from others
    epoch: int = 0
    seconds: float = 0.0
    best: float = -1.0
    best_state: dict[str, Tensor] = field(default_factory=dict)
    curve: list[dict[str, float]] = field(default_factory=list)

    def write_checkpoint(self) -> None:
        """Write everything that the next epoch needs."""
        state = {
            "config": self.identity,
            "network": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "average": self.average.state,
            "epoch": self.epoch,
            "seconds": self.seconds,
            "best": self.best,
            "best_state": self.best_state,
            "curve": self.curve,
        }
        save_state(self.config.out / STATE, state)

    def resume_run(self) -> None:
        """Resume where an earlier run stopped, if one did."""
        path = self.config.out / STATE
        if os.path.lexists(path):
            state = read_run_state(path)
            refuse_other_run(path, state.get("config"), self.identity)
            self.network.load_state_dict(state["network"])
            self.optimiser.load_state_dict(state["optimiser"])
            self.average.load_average(state["average"])
            for name in ("epoch", "seconds", "best", "best_state", "curve"):
                setattr(self, name, state[name])


def read_run_state(path: Path) -> dict[str, Any]:
    """Return what an earlier run wrote."""
    try:
        with open_regular(path, CHECKPOINT) as opened:
            refuse_inflating(path, opened, CHECKPOINT.most, stored=True)
            state: dict[str, Any] = torch.load(
                opened, weights_only=True, map_location=choose_device()
            )
    except UserError as problem:
        raise UserError(f"{problem}; {ELSEWHERE}") from None
    except Exception as problem:  # whatever a file can provoke
        first = str(problem).partition("\n")[0].partition(". ")[0] or type(problem).__name__
        raise UserError(f"{path}: cannot be read ({first}); {ELSEWHERE}") from None
    return state


def refuse_other_run(path: Path, known: dict[str, Any] | None, asked: dict[str, Any]) -> None:
    """Refuse to resume a run with other options."""
    if known is None:
        raise UserError(f"{path}: does not say which options it was trained with; {ELSEWHERE}")
    if changed := sorted(name for name in asked if known.get(name) != asked[name]):
        names = ", ".join(f"--{name.replace('_', '-')}" for name in changed)
        raise UserError(f"{path}: of a run with other {names}; {ELSEWHERE}")


def train_network(config: TrainingConfig) -> TrainingRun:
    """Train, and write the best weights with their card."""
    set_one_thread()
    keep_memory()
    # samples to train on, and others to choose weights by
    fusion = config.make_fusion()
    recorded = load_training_scenarios(config.data)
    alone = not fusion.trained_with_partners
    seeing = config.senses is not None
    samples = RecordedSamples(
        recorded, units=alone, first_moment=int(config.interference), pictures=seeing
    )
    held_out = RecordedSamples(
        load_training_scenarios(config.held_out), units=False, pictures=seeing
    )
    shown = min(len(samples), config.most or len(samples))
    if shown < config.batch:
        most = "" if config.most is None else f", of which --most shows {config.most},"
        raise UserError(f"{config.data[0]}: {len(samples)} samples{most} are fewer than a batch")
    config.out.mkdir(parents=True, exist_ok=True)
    # a run goes on from its checkpoint
    current = start_run(config)
    # an epoch trains on samples, and judges its weights on others
    tried = choose_validation_samples(config, held_out)
    epoch = shown + len(tried)
    with show_bar(config.scheme, config.epochs * epoch, done=current.epoch * epoch) as bar:
        while current.epoch < config.epochs:
            train_epoch(current, samples, bar.advance)
            precision = validate_weights(current, held_out, tried, bar.advance)
            keep_best(current, precision, bar.print_line)
            bar.note_done(current.epoch * epoch)
            current.write_checkpoint()
    # the best epoch's weights, with thresholds from the held-out samples
    best = config.out / "best.safetensors"
    save_weights(best, current.best_state, {"epoch": current.epoch})
    save_weights(
        get_weights_file(config),
        current.best_state,
        make_weight_card(current, recorded, len(samples)),
        choose_seeing_points(config.make_fusion(), str(best), held_out)
        if seeing
        else choose_operating_points(config.make_fusion(), best, held_out, size=config.size),
    )
    return current


def choose_operating_points(
    fusion: FusionModule, weights: Path, held_out: RecordedSamples, *, size: Size = "lite"
) -> dict[str, OperatingPoint]:
    """Return the operating point of every scheme that uses some weights."""
    others = [kind() for kind in SCHEMES.values() if kind.trained_as == fusion.scheme]
    schemes = others if is_shipped(type(fusion)) else [fusion]
    return {
        scheme.scheme: choose_operating_point(
            make_network_system(scheme, str(weights), size), held_out
        )
        for scheme in schemes
    }


def load_training_scenarios(folders: list[Path]) -> list[RecordedScenario]:
    """Return what was recorded; refuse recordings that are for testing."""
    recorded = [scenario for folder in folders for scenario in list_scenarios(folder)]
    for scenario in recorded:
        if scenario.purpose != "training":
            raise UserError(
                f"{scenario.folder}: was recorded for testing; train on other recordings"
            )
        refuse_for_training(scenario.town, str(scenario.folder))
    return recorded


def choose_weights_folder(config: TrainingConfig) -> Path:
    """Return where the best weights go: ours by default replace those that come with Crucible.

    Weights of full networks do not come with it.
    """
    shipped = is_shipped(type(config.make_fusion())) and config.size == "lite"
    ours = FOLDER if config.senses is None else CAMERA_FOLDER
    return config.weights or (ours if shipped else config.out)


def get_weights_file(config: TrainingConfig) -> Path:
    """Return the file of the best weights."""
    name = get_weight_file_name(type(config.make_fusion()), config.size)
    return choose_weights_folder(config) / name


def start_run(config: TrainingConfig) -> TrainingRun:
    """Return a run at its start, or where it stopped."""
    torch.manual_seed(derive_seed(config.seed, "weights"))
    network: PerceptionNetwork
    if config.senses is not None:
        network = start_seeing_network(config)
    else:
        fusion = config.make_fusion()
        network = PerceptionNetwork(fusion, fusion.choose_design(config.size))
    set_weights_channels_last(network)
    if config.start is not None and config.senses is None:
        load_shared_layers(network, config.start, all_layers=config.all_layers)
    network.to(choose_device())
    optimiser = torch.optim.AdamW(network.parameters(), weight_decay=0.01)
    current = TrainingRun(
        config=config,
        network=network,
        optimiser=optimiser,
        average=WeightAverage(network, AVERAGE_MEMORY),
        identity=make_run_identity(config),
    )
    current.resume_run()
    return current


def train_epoch(
    current: TrainingRun, samples: RecordedSamples, report: Callable[[int], None]
) -> None:
    """Train on all samples once; `report` gets how many more were trained on."""
    config, network = current.config, current.network
    # streams of the epoch: resumed runs repeat it
    random = make_named_stream(config.seed, "epoch", str(current.epoch))
    torch.manual_seed(derive_seed(config.seed, "dropout", str(current.epoch)))
    started, losses = time.perf_counter(), []
    shown = min(len(samples), config.most or len(samples))
    steps = shown // config.batch
    set_trainable(network, config)
    for number, chosen in enumerate(iter_batches(len(samples), shown, config.batch, random)):
        # the learning rate follows all steps of the run
        step = current.epoch * steps + number
        for group in current.optimiser.param_groups:
            group["lr"] = compute_learning_rate(step, config.epochs * steps, config.peak_rate)
        if isinstance(network, SeeingNetwork):
            loss = compute_seeing_batch_loss(
                config, network, samples=samples, chosen=chosen, random=random
            )
        else:
            loss = compute_batch_loss(
                config, network, samples=samples, chosen=chosen, random=random
            )
        losses.append(take_step(current, loss))
        current.average.update_average(network, step)
        report(config.batch)
    current.epoch += 1
    current.seconds += time.perf_counter() - started
    current.curve.append({"epoch": current.epoch, "loss": sum(losses) / len(losses)})


def compute_batch_loss(
    config: TrainingConfig,
    network: PerceptionNetwork,
    *,
    samples: RecordedSamples,
    chosen: list[int],
    random: np.random.Generator,
) -> Tensor:
    """Return the loss of a batch of samples, on a random part of the window if that is possible."""
    # a random part of the window, which is faster
    if has_one_cloud(network.fusion_net) and not config.whole:
        network.pillar_vfe.grid = crop_grid(network.design.grid, random)
    inputs, targets = zip(
        *(
            make_training_example(config, network, samples=samples, number=number, random=random)
            for number in chosen
        ),
        strict=True,
    )
    return compute_loss(run_network_batch(network, inputs), targets)


def set_trainable(network: PerceptionNetwork, config: TrainingConfig) -> None:
    """Train all of a network, or what comes after the encoder and the backbone."""
    if isinstance(network, SeeingNetwork):
        set_seeing_trainable(network, config)
        return
    network.train()
    if config.freeze:
        for part in (network.pillar_vfe, network.backbone):
            part.eval().requires_grad_(False)


def take_step(current: TrainingRun, loss_of_batch: Tensor) -> float:
    """Take a gradient step; return the loss."""
    current.optimiser.zero_grad()
    torch.autograd.backward(loss_of_batch)
    torch.nn.utils.clip_grad_norm_(current.network.parameters(), LARGEST_GRADIENT)
    current.optimiser.step()
    return loss_of_batch.item()


def choose_validation_samples(config: TrainingConfig, held_out: RecordedSamples) -> range:
    """Return the numbers of held-out samples, spread evenly."""
    return range(0, len(held_out), max(1, len(held_out) // config.trial))


def validate_weights(
    current: TrainingRun, held_out: RecordedSamples, tried: range, report: Callable[[int], None]
) -> dict[str, float]:
    """Return the precision of the averaged weights on held-out samples.

    Args:
        current: the run.
        held_out: samples that are not trained on.
        tried: numbers of those that are used.
        report: gets how many more were used.
    """
    config = current.config

    def detect_and_report(sample: EgoSample) -> Boxes:
        boxes = detect_in_sample(system, sample)
        report(1)
        return boxes

    averaged = config.out / "averaged.safetensors"
    save_weights(averaged, current.average.state, {"epoch": current.epoch})
    system: NetworkSystem
    if config.senses is not None:
        system = make_seeing_system(config.make_fusion(), config.validated, str(averaged))
    else:
        system = make_network_system(config.make_fusion(), str(averaged), config.size)
    system.operating_point = make_zero_thresholds()
    table = evaluate_detections(
        detect_and_report,
        (held_out.read_sample(number) for number in tried),
        system.detector.design.grid,
    )
    return select_headline(table, config.visible)


def keep_best(
    current: TrainingRun, precision: dict[str, float], print_line: Callable[[str], None]
) -> None:
    """Keep the weights if they are the best so far, and print a line for this epoch."""
    current.curve[-1].update(precision)
    known = [value for value in precision.values() if not math.isnan(value)]
    mean = sum(known) / len(known) if known else 0.0
    if mean > current.best:
        current.best = mean
        current.best_state = {
            name: weights.clone() for name, weights in current.average.state.items()
        }
    last = current.curve[-1]
    scores = "  ".join(f"{name} {value:.3f}" for name, value in precision.items())
    print_line(f"epoch {current.epoch}: loss {last['loss']:.3f}  AP@0.5 {scores}")


def make_weight_card(
    current: TrainingRun, recorded: list[RecordedScenario], samples: int
) -> dict[str, Any]:
    """Return the card of the best weights."""
    config = current.config
    origin = make_training_card(config, recorded, samples)
    shown = current.epoch * origin["samples an epoch"]
    return {
        **origin,
        "parameters": current.network.parameter_count,
        "trained on": get_device_name(),
        "ms per sample": round(1000 * current.seconds / shown, 1),
        "best on held-out scenarios": {"truth visible to": config.visible, "mean": current.best},
        "curve": current.curve,
    }


def get_device_name() -> str:
    """Return the name of the GPU or of the processor that networks are trained on here."""
    device = choose_device()
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return get_processor_name()


def compute_learning_rate(step: int, steps: int, peak: float) -> float:
    """Return the learning rate of a step: up in a line, down in half a cosine."""
    progress = step / steps
    if progress < WARM_UP:
        return peak * (progress / WARM_UP + 1 / steps)
    down = (progress - WARM_UP) / (1 - WARM_UP)
    return peak * (FINAL_RATE + (1 - FINAL_RATE) * (1 + math.cos(math.pi * down)) / 2)


class WeightAverage:
    """Exponential moving average of the weights: what is kept in the end."""

    def __init__(self, network: nn.Module, memory: float) -> None:
        self.memory = memory
        self.state = {name: weights.clone() for name, weights in network.state_dict().items()}

    @torch.no_grad()
    def update_average(self, network: nn.Module, step: int) -> None:
        """Take a step into account; early steps have less memory."""
        kept = min(self.memory, (1 + step) / (10 + step))
        for name, weights in network.state_dict().items():
            if weights.is_floating_point():
                self.state[name].lerp_(weights, 1 - kept)
            else:
                self.state[name].copy_(weights)

    def load_average(self, state: Mapping[str, Tensor]) -> None:
        """Resume from a checkpoint."""
        self.state = {name: weights.clone() for name, weights in state.items()}


def iter_batches(
    samples: int, shown: int, size: int, random: np.random.Generator
) -> Iterator[list[int]]:
    """Yield some samples, or all, in random order; what does not fill a batch is left out."""
    order = random.permutation(samples)[:shown]
    for first in range(0, shown - size + 1, size):
        yield order[first : first + size].tolist()
