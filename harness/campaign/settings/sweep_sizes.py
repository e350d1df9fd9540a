"""What sizes a sweep may have, and what they mean in settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.common.errors import UserError

SWEEP = "sweep"
"""The setting."""
HERE = "harness.channel.interference."


def get_same_size(size: float) -> float:
    """Return the size: it is the setting."""
    return size


@dataclass(frozen=True, slots=True, kw_only=True)
class DisturbanceSize:
    """What a disturbance's size is, and the settings that one size means."""

    target: str
    parameter: str
    least: float = 0.0  # 0 is `none`
    most: float | None = None
    whole: bool = False
    value: Callable[[float], float] = get_same_size
    further: Mapping[str, float] = field(default_factory=dict)

    def make_part(self, size: float) -> dict[str, Any]:
        """Return the disturbance of that size as settings have it."""
        target = f"{HERE}{self.target}"
        return {"_target_": target, self.parameter: self.value(size), **self.further}


def list_size_problems(of: DisturbanceSize, size: Any) -> Iterator[str]:
    """Yield why something is no size of a disturbance."""
    if not isinstance(size, int | float) or isinstance(size, bool):
        yield "is not a number"
        return
    if of.whole and not isinstance(size, int):
        yield "is not a whole number"
    if size < of.least or (of.most is not None and size > of.most):
        bounds = f"≥ {of.least:g}" if of.most is None else f"from {of.least:g} to {of.most:g}"
        yield f"must be {bounds}"


def make_sweep_error(why: str, name: str = "") -> UserError:
    """Return the error of a sweep that cannot be driven."""
    return UserError(f"configuration: {SWEEP}{'.' if name else ''}{name} {why}")


def refuse_sizes(name: str, sizes: Any, of: DisturbanceSize, example: str) -> None:
    """Refuse what is no list of different sizes.

    Args:
        name: of the sweep.
        sizes: as the user wrote them.
        of: bounds of a size.
        example: a list that is valid.
    """
    if not isinstance(sizes, list) or not sizes:
        raise make_sweep_error(f"= {sizes}: a list is needed, as sweep.{name}={example}", name)
    for size in sizes:
        for problem in list_size_problems(of, size):
            raise make_sweep_error(f"= {sizes}: {size!r} {problem}", name)
    if len({f"{size:.12g}" for size in sizes}) < len(sizes):
        raise make_sweep_error(f"= {sizes}: names a size twice", name)
