"""`train_flow`: train the flow network of a scheme, which moves feature maps by their age."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor
from torch.nn import functional

from agents.perception.detector import set_weights_channels_last
from agents.perception.feature_layouts import NEARLY_EMPTY
from agents.perception.flows.files import (
    CHANNELS,
    ENCODER,
    FLOW_FOLDER,
    METADATA,
    get_flow_file_name,
)
from agents.perception.flows.moving import stop_slow_cells
from agents.perception.flows.network import FlowNetwork
from agents.perception.fusion.catalogue import INTERMEDIATE
from agents.perception.grid import PillarGrid
from agents.perception.loading import find_weight_file
from agents.perception.network import set_one_thread
from agents.perception.systems import Intermediate, make_network_system
from agents.training.flow_samples import (
    LONGEST_AGE,
    LONGEST_GAP,
    Course,
    FlowBatch,
    choose_corner,
    encode_courses,
    list_places,
    make_batch,
    sample_places,
)
from agents.training.fusion_names import make_fusion_module
from agents.training.memory import keep_memory
from agents.training.train import compute_learning_rate, get_device_name, load_training_scenarios
from agents.training.weight_files import describe_recordings, format_card, write_bytes_whole
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.progress_bar import show_bar
from harness.common.randomness import derive_seed, make_named_stream
from harness.common.recordings import RecordedScenario
from harness.common.safe_reading import CHECKPOINT, sum_of_file

SCORE_WEIGHT = 30.0
"""How much more a cell with a certain detection counts than an empty one."""
MAP_SHARE, SPEED_SHARE = 2.0, 1.0
"""Of the loss: of maps, and of velocities."""
MOVING = 0.3
"""m/s from which a road user moves."""
LARGEST_GRADIENT = 5.0
TRIED_AGES = (2, 5)
"""Looks after which maps are compared on held-out recordings: 0.2 and 0.5 s of the usual ones."""
TRIED_GAP = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowTrainingConfig:
    """The options of `train_flow`."""

    scheme: str
    data: list[Path]
    held_out: list[Path]
    weights: Path | None  # folder for the flow network; None: the shipped ones are replaced
    network: Path | None  # weights of the scheme whose maps are moved; None: the shipped ones
    senders: int  # agents of each scenario whose maps are used
    steps: int
    batch: int
    peak_rate: float
    seed: int
    trial: int  # held-out places for each age


def train_flow(config: FlowTrainingConfig) -> Path:
    """Train, and write the flow network with its card; return its file."""
    set_one_thread()
    keep_memory()
    if config.scheme not in INTERMEDIATE:
        valid = ", ".join(INTERMEDIATE)
        raise UserError(f"--scheme {config.scheme}: sends no feature maps (valid: {valid})")
    named = None if config.network is None else str(config.network)
    encoder = find_weight_file(INTERMEDIATE[config.scheme], "lite", named)
    system = make_network_system(make_fusion_module(config.scheme), named)
    assert isinstance(system, Intermediate)
    grid = system.detector.design.grid
    recorded = load_training_scenarios(config.data)
    held_out = load_training_scenarios(config.held_out)
    for scenario in (*recorded, *held_out):
        refuse_few_looks(scenario)
    # what was sent, once for all steps
    courses = encode_courses(system, recorded, f"{config.scheme}: maps", senders=config.senders)
    tried = encode_courses(system, held_out, f"{config.scheme}: held out", senders=config.senders)
    network = start_flow_network(system, config.seed)
    began = time.process_time()
    curve = run_steps(config, network, courses, grid)
    seconds = time.process_time() - began
    errors = measure_errors(network, tried, grid, config.trial)
    file = (config.weights or FLOW_FOLDER) / get_flow_file_name(config.scheme)
    card = {
        "scheme": config.scheme,
        "moves maps of": encoder.name,
        "parameters": network.parameter_count,
        "data": describe_recordings(recorded),
        "held out": describe_recordings(held_out),
        "command": format_flow_command(config),
        "trained on": get_device_name(),
        "seconds of a core": round(seconds),
        "loss": curve,
        "error of maps on held-out recordings, moved / as they are": errors,
    }
    save_flow_network(file, network, encoder, card)
    return file


def refuse_few_looks(scenario: RecordedScenario) -> None:
    """Refuse a recording whose looks are too far apart, or too few."""
    needed = round((LONGEST_GAP + LONGEST_AGE) / scenario.interval) + 1
    looks = min(len(scenario.list_moments(agent)) for agent in scenario.list_agents())
    if scenario.interval > LONGEST_GAP / 2 or looks < needed:
        raise UserError(
            f"{scenario.folder}: {looks} looks, {scenario.interval:g} s apart; a flow network"
            " needs `crucible collect --interval 0.1 --looks 16`"
        )


def start_flow_network(system: Intermediate, seed: int) -> FlowNetwork:
    """Return a flow network for the maps of a system; what is left behind is as an empty sweep."""
    torch.manual_seed(derive_seed(seed, "flow weights"))
    nothing = system.detector.make_message(system.detector.encode_points(NEARLY_EMPTY, 1.0)).maps
    network = FlowNetwork(tuple(level.shape[0] for level in nothing))
    with torch.no_grad():
        for kept, level in zip(network.empty, nothing, strict=True):
            kept.copy_(torch.from_numpy(level.copy()).flatten(1).median(1).values)
    set_weights_channels_last(network)
    return network


def run_steps(
    config: FlowTrainingConfig,
    network: FlowNetwork,
    courses: Sequence[Course],
    grid: PillarGrid,
) -> list[dict[str, float]]:
    """Take all steps; return the mean losses of each tenth of them."""
    random = make_named_stream(config.seed, "flow places")
    optimiser = torch.optim.AdamW(network.parameters(), weight_decay=0.01)
    curve: list[dict[str, float]] = []
    sums = {"maps": 0.0, "speeds": 0.0}
    tenth = max(config.steps // 10, 1)
    network.train()
    with show_bar(config.scheme, config.steps) as bar:
        for step in range(config.steps):
            for group in optimiser.param_groups:
                group["lr"] = compute_learning_rate(step, config.steps, config.peak_rate)
            places = sample_places(courses, config.batch, random)
            batch = make_batch(places, grid, [choose_corner(one, grid, random) for one in places])
            losses = compute_flow_losses(network, batch, grid)
            loss = MAP_SHARE * losses["maps"] + SPEED_SHARE * losses["speeds"]
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            torch.nn.utils.clip_grad_norm_(network.parameters(), LARGEST_GRADIENT)
            optimiser.step()
            for name, value in losses.items():
                sums[name] += value.item() / tenth
            if (step + 1) % tenth == 0:
                curve.append({"step": step + 1, **{n: round(v, 4) for n, v in sums.items()}})
                bar.print_line(
                    f"{config.scheme}: step {step + 1}: maps {sums['maps']:.4f}"
                    f" speeds {sums['speeds']:.4f}"
                )
                sums = dict.fromkeys(sums, 0.0)
            bar.advance()
    return curve


def compute_flow_losses(
    network: FlowNetwork, batch: FlowBatch, grid: PillarGrid
) -> dict[str, Tensor]:
    """Return the error of the moved maps, and that of the velocities of road users."""
    velocity, importance = network(batch.newer[0], batch.older, batch.gap)
    moved = network.move_levels(batch.newer, velocity, importance, age=batch.age, cell=grid.cell)
    return {
        "maps": sum_level_errors(moved, batch).mean(),
        "speeds": compute_speed_loss(velocity, batch),
    }


def sum_level_errors(maps: Sequence[Tensor], batch: FlowBatch) -> Tensor:
    """Return the weighted mean error against the later map, (places,), over all levels.

    Cells count by the score of what stands in them, now or later; those beyond do not.
    """
    total = torch.zeros(len(batch.age))
    weight = batch.reach * (1 + SCORE_WEIGHT * batch.score)
    for level, goal in zip(maps, batch.later, strict=True):
        apart = (level - goal).abs().mean(1, keepdim=True) * weight
        total = total + apart.sum((1, 2, 3)) / weight.sum((1, 2, 3)).clamp_min(1.0)
        weight = functional.avg_pool2d(weight, 2)
    return total / len(batch.later)


def compute_speed_loss(velocity: Tensor, batch: FlowBatch) -> Tensor:
    """Return the error of velocities: of what moves, of who stands, and of empty cells, equally."""
    apart = functional.smooth_l1_loss(velocity, batch.speeds, reduction="none").sum(1, keepdim=True)
    moving = (batch.speeds.square().sum(1, keepdim=True) > MOVING**2).float()
    parts = (
        moving * batch.counted,
        (1 - moving) * batch.counted * batch.score,
        (1 - moving) * batch.counted,
    )
    return torch.stack([(apart * part).sum() / part.sum().clamp_min(1.0) for part in parts]).sum()


@torch.no_grad()
def measure_errors(
    network: FlowNetwork, courses: Sequence[Course], grid: PillarGrid, most: int
) -> dict[str, float]:
    """Return errors of moved maps as shares of those of maps as they are, by age in seconds."""
    network.eval()
    shares = {}
    for age in TRIED_AGES:
        places = [*list_places(courses, (TRIED_GAP,), (age,))]
        chosen = places[:: max(1, len(places) // most)]
        sums = torch.zeros(2)
        for place in chosen:
            batch = make_batch([place], grid)
            velocity, importance = network(batch.newer[0], batch.older, batch.gap)
            # as at work
            velocity = stop_slow_cells(velocity)
            moved = network.move_levels(
                batch.newer, velocity, importance, age=batch.age, cell=grid.cell
            )
            sums += torch.stack(
                [sum_level_errors(moved, batch)[0], sum_level_errors(batch.newer, batch)[0]]
            )
        shares[f"{chosen[0].age:g} s"] = round(float(sums[0] / sums[1]), 4)
    return shares


def format_flow_command(config: FlowTrainingConfig) -> str:
    """Return the command of a run, without the paths of files."""
    words = ["crucible train-flow --scheme", config.scheme]
    words += ["--data", *["DIR"] * len(config.data), "--held-out", *["DIR"] * len(config.held_out)]
    words += ["--network FILE"] if config.network is not None else []
    words += [f"--steps {config.steps} --batch {config.batch} --peak-rate {config.peak_rate:g}"]
    words += [f"--senders {config.senders} --seed {config.seed} --trial {config.trial}"]
    return " ".join(words)


def save_flow_network(
    file: Path, network: FlowNetwork, encoder: Path, card: Mapping[str, Any]
) -> None:
    """Write a flow network in half floats, with its card."""
    state = network.state_dict()
    halves = {
        name: (weights.half() if weights.is_floating_point() else weights).contiguous()
        for name, weights in state.items()
    }
    facts = {
        ENCODER: sum_of_file(encoder, follow=True, kind=CHECKPOINT),
        CHANNELS: [len(one) for one in network.empty],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    write_bytes_whole(file, safetensors.torch.save(halves, {METADATA: json.dumps(facts)}))
    write_whole(file.with_suffix(".json"), format_card(dict(card)))
