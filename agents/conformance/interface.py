"""Whether a system can be called as an attempt calls it, and what its class declares."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from harness.common.findings import Finding
from harness.types.systems import FUSION_STAGES, is_privileged

GIVEN = {
    "reset": ("seed", "route"),
    "share": ("observation",),
    "step": ("observation", "messages"),
}
SHOWN_TRUTH = ("share", "step")


def check_call_interface(system: Any) -> Iterator[Finding]:
    """Yield attributes and methods that are missing or cannot be called."""
    # attributes
    for name in ("reads_points", "reads_messages"):
        value = getattr(system, name, None)
        if not isinstance(value, bool):
            yield Finding(
                "calls",
                "failed",
                f"{name} is {value!r}; set it to True or False in the class: it decides whether an"
                " attempt runs LiDARs and partners for the system",
            )
    stage = getattr(system, "fusion_stage", "none")
    if stage not in FUSION_STAGES:
        valid = ", ".join(FUSION_STAGES)
        yield Finding("calls", "failed", f"fusion_stage is {stage!r}; valid: {valid}")
    # methods, with the arguments that they are called with
    for name in GIVEN:
        signature = f"{name}({', '.join(list_argument_names(system, name))})"
        method = getattr(system, name, None)
        if not callable(method):
            yield Finding("calls", "failed", f"method {name} not found; write {signature}")
        elif not can_take_arguments(
            method, len(list_argument_names(system, name))
        ) and not wants_truth(system, name):
            has = f"{name}{inspect.signature(method)}"
            yield Finding("calls", "failed", f"it is called as {signature}; its signature is {has}")


def check_ground_truth_use(system: Any) -> Iterator[Finding]:
    """Yield whether it is given the ground truth, and whether its class declares it."""
    for name in SHOWN_TRUTH:
        if wants_truth(system, name):
            yield Finding(
                "truth",
                "failed",
                f"{name} takes one more argument, the ground truth; only classes with"
                " privileged = True get it: remove the argument, or set privileged = True",
            )
    if is_privileged(system):
        yield Finding(
            "truth",
            "note",
            "privileged: it is given the ground truth; use it only as an upper bound",
        )


def list_argument_names(system: Any, name: str) -> tuple[str, ...]:
    """Return the names of the arguments that an attempt calls a method with."""
    more = ("truth",) if is_privileged(system) and name in SHOWN_TRUTH else ()
    return GIVEN[name] + more


def wants_truth(system: Any, name: str) -> bool:
    """Return whether a method needs one more argument although its class is not privileged."""
    method = getattr(system, name, None)
    if is_privileged(system) or name not in SHOWN_TRUTH or not callable(method):
        return False
    count = len(GIVEN[name])
    return not can_take_arguments(method, count) and can_take_arguments(method, count + 1)


def can_take_arguments(method: Any, count: int) -> bool:
    """Return whether a method can be called with `count` arguments, as far as can be inspected."""
    try:
        inspect.signature(method).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # compiled, without a signature
        return True
    return True
