"""Whether payloads and steps have the types, shapes and ranges of `harness.types.vocabulary`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, get_args, get_type_hints

import numpy as np

from agents.merging import find_ego_boxes
from harness.common.findings import Finding
from harness.types.vocabulary import (
    CLASSES,
    Boxes,
    Control,
    EgoObservation,
    Features,
    Payload,
    Points,
    Step,
)

LARGEST = 30.0
"""Longest side of a road user, m."""


def check_shared_payloads(system: Any, payloads: Sequence[Any]) -> Iterator[Finding]:
    """Yield what is wrong with the partners' payloads."""
    kinds = " or ".join(kind.__name__ for kind in get_args(Payload))
    # type, size, then what it holds; the first problem ends the check
    for payload in payloads:
        if not isinstance(payload, get_args(Payload)):
            came = type(payload).__name__
            yield Finding("share", "failed", f"it returns {came}; {kinds} is needed")
            return
        size = payload.size_bytes
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
            yield Finding(
                "share", "failed", f"size_bytes is {size!r}; it must be a whole number of bytes"
            )
            return
        for problem in list_payload_problems(payload):
            yield Finding("share", "failed", problem)
            return
    # the type that the signature states: plans use it
    try:
        shared = get_type_hints(system.share).get("return")
    except (AttributeError, NameError, SyntaxError, TypeError):
        shared = None
    if system.reads_messages and not (
        isinstance(shared, type) and issubclass(shared, get_args(Payload))
    ):
        yield Finding(
            "share",
            "warning",
            f"its signature has no return type; add -> {kinds.split()[0]}, or another payload type:"
            " then disturbances without effect on it are not planned",
        )


def list_payload_problems(payload: Payload) -> Iterator[str]:
    """Yield what is wrong with one payload."""
    if isinstance(payload, Boxes):
        yield from list_box_problems(payload, "payload")
    elif isinstance(payload, Points):
        yield from list_array_problems(
            payload.in_lidar, np.float32, name="points", dimensions=2, width=4
        )
    else:
        assert isinstance(payload, Features)
        for feature_map in payload.maps:
            yield from list_array_problems(
                feature_map, np.float32, name="a feature map", dimensions=3
            )


def check_step_types(steps: Sequence[Any]) -> Iterator[Finding]:
    """Yield what is no Step."""
    for step in steps:
        if not isinstance(step, Step):
            yield Finding(
                "step",
                "failed",
                f"it returns {type(step).__name__}; Step(control, cooperative, ego_alone) of"
                " harness.types.vocabulary is needed",
            )
            return
        parts = ((step.control, Control), (step.cooperative, Boxes), (step.ego_alone, Boxes))
        for name, (part, kind) in zip(("control", "cooperative", "ego_alone"), parts, strict=True):
            if not isinstance(part, kind):
                came, needed = type(part).__name__, kind.__name__
                yield Finding("step", "failed", f"{name} is a {came}; {needed} is needed")
                return


def check_control_ranges(steps: Sequence[Step]) -> Iterator[Finding]:
    """Yield controls outside their range."""
    for name, lowest in (("throttle", 0.0), ("steer", -1.0), ("brake", 0.0)):
        values = np.array([getattr(step.control, name) for step in steps], np.float64)
        odd = ~((values >= lowest) & (values <= 1.0))
        if odd.any():
            yield Finding(
                "control",
                "failed",
                f"{name} is {values[odd][0]:.3g}; {lowest:.0f} to 1 is needed: check where it comes"
                " from, then clip it",
            )


def check_step_boxes(steps: Sequence[Step]) -> Iterator[Finding]:
    """Yield the first thing that is wrong with boxes."""
    for step in steps:
        for name in ("cooperative", "ego_alone"):
            for problem in list_box_problems(getattr(step, name), name):
                yield Finding("boxes", "failed", problem)
                return
    if not any(len(step.cooperative) + len(step.ego_alone) for step in steps):
        yield Finding(
            "boxes", "warning", "no boxes at all; the checks of boxes have nothing to check"
        )


def list_box_problems(detected: Boxes, name: str) -> Iterator[str]:
    """Yield what is wrong with boxes."""
    # types and shapes, before their values
    arrays = (("geometry", np.float64, 2, 7), ("classes", np.int64, 1, None))
    for field, kind, dimensions, width in (*arrays, ("scores", np.float64, 1, None)):
        array = getattr(detected, field)
        yield from list_array_problems(
            array, kind, name=f"{name}: {field}", dimensions=dimensions, width=width
        )
    # values, with a guess at what was meant
    if not ((detected.classes >= 0) & (detected.classes < len(CLASSES))).all():
        known = ", ".join(f"{number} {class_name}" for number, class_name in enumerate(CLASSES))
        lowest, highest = detected.classes.min(), detected.classes.max()
        yield f"{name}: classes reach from {lowest} to {highest}; {known}"
    if not ((detected.scores >= 0.0) & (detected.scores <= 1.0)).all():
        most = np.abs(detected.scores).max()
        yield f"{name}: scores reach {most:.3g}; 0 to 1 is needed: a sigmoid?"
    sizes = detected.geometry[:, 3:6]
    if not ((sizes > 0.0) & (sizes <= LARGEST)).all():
        yield (
            f"{name}: sizes reach from {sizes.min():.3g} to {sizes.max():.3g} m; columns are"
            " x y z length width height yaw, full sizes"
        )
    if (np.abs(detected.geometry[:, 6]) > 2 * np.pi).any():
        largest = np.abs(detected.geometry[:, 6]).max()
        yield f"{name}: yaw reaches {largest:.3g}; it must be in radians"


def list_array_problems(
    array: Any, kind: type, *, name: str, dimensions: int, width: int | None = None
) -> Iterator[str]:
    """Yield what is wrong with one array."""
    if not isinstance(array, np.ndarray):
        yield f"{name} is a {type(array).__name__}; a numpy array is needed: .numpy()?"
    elif array.ndim != dimensions or (width is not None and array.shape[1] != width):
        shape = f"(N, {width})" if width else f"of {dimensions} dimensions"
        yield f"{name} has shape {array.shape}; {shape} is needed"
    elif array.dtype != kind:
        needed = np.dtype(kind)
        yield f"{name} holds {array.dtype}; {needed} is needed: .astype(np.{needed})"
    elif not np.isfinite(array).all():
        yield f"{name} holds numbers that are not finite"


def check_ego_body(steps: Sequence[Step], seen: Sequence[EgoObservation]) -> Iterator[Finding]:
    """Yield whether the ego detects itself."""
    count = sum(
        int(find_ego_boxes(detected, observation.lidar_in_vehicle).sum())
        for step, observation in zip(steps, seen, strict=True)
        for detected in (step.cooperative, step.ego_alone)
    )
    if count:
        yield Finding(
            "own body",
            "warning",
            f"{count} boxes are at the ego's own place; its driver would brake for them:"
            " agents.merging.find_ego_boxes finds them",
        )
