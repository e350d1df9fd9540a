"""Weights of Crucible's own networks, as `crucible models check` sees them: a file and its card."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agents.bundles.bundle import DEPTH, ModelBundle, get_part
from agents.bundles.bundle_check import CheckedBundle, count_parameters
from harness.common.errors import UserError
from harness.common.findings import Finding
from harness.common.safe_reading import read_json_within

WEIGHTS, CARD = ".safetensors", ".json"
OURS = "Crucible"
DATA_SET = "carlite"
CAMERA_KEYS = "camera."
"""Keys of weights that encode pictures."""
FLOW_OF = "moves maps of"
"""In the card of a flow network: the weights whose feature maps it moves."""


def find_crucible_weights(folder: Path) -> Iterator[Path]:
    """Yield files of weights with a card next to them, up to four folders below."""
    yield from (file for file, has_card in walk_weights(folder) if has_card)


def find_cardless_weights(folder: Path) -> Iterator[Path]:
    """Yield files of weights without a card, which are not checked, up to four folders below."""
    yield from (file for file, has_card in walk_weights(folder) if not has_card)


def describe_cardless_weights(folder: Path) -> Iterator[str]:
    """Yield a line for each file of weights that is not checked, since it has no card."""
    for file in find_cardless_weights(folder):
        card = file.with_suffix(CARD).name
        yield f"{file.relative_to(folder)} is not checked: there is no card {card} next to it"


def walk_weights(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Yield files of weights in the order of their names, and whether a card is next to each."""
    for place, inner, files in os.walk(folder):
        inner.sort()
        here = Path(place)
        for name in sorted(files):
            file = here / name
            if file.suffix == WEIGHTS:
                yield file, file.with_suffix(CARD).name in files
        if len(here.relative_to(folder).parts) >= DEPTH:
            inner.clear()


def check_crucible_weights(file: Path) -> CheckedBundle:
    """Return what is found of a file of weights; what is refused in it is a failed finding."""
    bundle: ModelBundle | None = None
    parameters: int | None = None
    try:
        card = read_card(file)
        bundle = make_crucible_bundle(file, card)
        parameters = count_crucible_parameters(file, card)
        findings = tuple(describe_crucible_weights(card, parameters))
    except (UserError, OSError, ValueError) as problem:
        findings = (Finding("weights", "failed", " ".join(str(problem).split())),)
    return CheckedBundle(folder=file, bundle=bundle, parameters=parameters, findings=findings)


def read_card(file: Path) -> Mapping[str, Any]:
    """Return the card next to weights.

    Raises:
        UserError: it is none, or names no network of ours.
    """
    from agents.perception.designs import SIZES  # noqa: PLC0415 - needs torch
    from agents.perception.fusion.catalogue import SCHEMES  # noqa: PLC0415

    place = file.with_suffix(CARD)
    try:
        card = read_json_within(place, within=place.parent)
    except ValueError as problem:
        raise UserError(f"{place.name}: cannot be read as a card: {problem}") from None
    if not isinstance(card, Mapping) or card.get("scheme") not in SCHEMES:
        raise UserError(f"{place.name} names no fusion scheme of Crucible")
    if FLOW_OF not in card and card.get("size") not in SIZES:
        raise UserError(f"{place.name}: size must be {' or '.join(SIZES)}")
    return card


def count_crucible_parameters(file: Path, card: Mapping[str, Any]) -> int:
    """Return the parameters of weights that fit the network of their card.

    Raises:
        UserError: they do not fit, or are no weights.
    """
    from agents.perception.cameras.systems import load_seeing_network  # noqa: PLC0415
    from agents.perception.flows.files import open_flow_network  # noqa: PLC0415
    from agents.perception.fusion.catalogue import SCHEMES  # noqa: PLC0415
    from agents.perception.loading import load_network, read_weights  # noqa: PLC0415

    state = read_weights(file)
    if not all(bool(numbers.isfinite().all()) for numbers in state.values()):
        raise UserError(f"{file.name}: numbers that are not finite")
    if FLOW_OF in card:
        return open_flow_network(file).parameter_count
    fusion = SCHEMES[card["scheme"]]()
    if any(key.startswith(CAMERA_KEYS) for key in state):
        load_seeing_network(fusion, str(file))
    else:
        load_network(fusion, card["size"], str(file))
    return count_parameters(state)


def make_crucible_bundle(file: Path, card: Mapping[str, Any]) -> ModelBundle:
    """Return weights of ours in the form of a published model."""
    from agents.perception.fusion.catalogue import SCHEMES  # noqa: PLC0415

    kind = "flow" if FLOW_OF in card else card["size"]
    grid = SCHEMES[card["scheme"]]().choose_design(card.get("size", "lite")).grid
    return ModelBundle(
        folder=file.parent,
        form=OURS,
        settings={
            "model": {"core_method": f"{card['scheme']}, {kind}"},
            "preprocess": {"cav_lidar_range": [*grid.low, *grid.high]},
        },
        meta={"id": f"{file.parent.name}/{file.stem}", "compatibility": {"dataset": DATA_SET}},
    )


def describe_crucible_weights(card: Mapping[str, Any], parameters: int) -> Iterator[Finding]:
    """Yield what the card says of weights that fit."""
    if card.get("parameters") != parameters:
        said = card.get("parameters")
        yield Finding("weights", "failed", f"{parameters:,} parameters; the card says {said}")
    else:
        yield Finding("weights", "passed", f"they fit the network, {parameters:,} parameters")
    best = get_part(card, "best on held-out scenarios")
    if isinstance(best.get("mean"), float):
        seen = best.get("truth visible to", "anyone")
        yield Finding(
            "precision",
            "note",
            f"the card: mean AP {best['mean']:.3f} on held-out scenarios, truth visible to {seen}",
        )
