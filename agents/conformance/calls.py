"""Whether a system can be called as an attempt calls it, and what its class says of itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from agents.conformance.finding import Finding
from harness.vocabulary import is_privileged

GIVEN = {
    "reset": ("seed", "route"),
    "share": ("observation",),
    "step": ("observation", "messages"),
}
SHOWN_TRUTH = ("share", "step")


def calls(system: Any) -> Iterator[Finding]:
    """Yield what is missing or cannot be called."""
    for name in ("reads_points", "reads_messages"):
        value = getattr(system, name, None)
        if not isinstance(value, bool):
            yield Finding(
                "calls",
                "failed",
                f"{name} is {value!r}; say True or False in the class: an attempt asks before it"
                " runs LiDARs and partners for you",
            )
    for name in GIVEN:
        told = f"{name}({', '.join(arguments(system, name))})"
        method = getattr(system, name, None)
        if not callable(method):
            yield Finding("calls", "failed", f"there is no {name}; write {told}")
        elif not takes(method, len(arguments(system, name))) and not wants_truth(system, name):
            has = f"{name}{inspect.signature(method)}"
            yield Finding("calls", "failed", f"{told} is called; yours is {has}")


def truth(system: Any) -> Iterator[Finding]:
    """Yield whether it is shown the truth, and whether its class says so."""
    for name in SHOWN_TRUTH:
        if wants_truth(system, name):
            yield Finding(
                "truth",
                "failed",
                f"{name} takes a further argument, the truth; that is shown only to classes that"
                " say privileged = True: leave it out, or say so",
            )
    if is_privileged(system):
        yield Finding(
            "truth",
            "told",
            "privileged: it is shown the truth, and tells how good others could be at best",
        )


def arguments(system: Any, name: str) -> tuple[str, ...]:
    """Return what an attempt calls a method with."""
    more = ("truth",) if is_privileged(system) and name in SHOWN_TRUTH else ()
    return GIVEN[name] + more


def wants_truth(system: Any, name: str) -> bool:
    """Return whether a method needs one argument more, though its class does not say privileged."""
    method = getattr(system, name, None)
    if is_privileged(system) or name not in SHOWN_TRUTH or not callable(method):
        return False
    count = len(GIVEN[name])
    return not takes(method, count) and takes(method, count + 1)


def takes(method: Any, count: int) -> bool:
    """Return whether a method can be called with so many arguments, as far as it tells."""
    try:
        inspect.signature(method).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # compiled, without a signature
        return True
    return True
