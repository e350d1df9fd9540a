"""Arms: what is compared on the same routes with the same seeds.

An arm is a set of named factors with a value each. Three belong to every arm: the system, who
cooperates, and the condition of the channel. Others may join them. `none` is the value of a factor
that is not there: an arm with `intervention` at `none` is the arm that names no intervention. For
the driver that value is `default`, for the link `ideal`, for the brakes `default`, for the format
of messages `native`, for the systems of partners `own`.

One name identifies an arm. It is the arm's folder, the front of its attempts' keys, and reads back:

    late/ahead/latency                        system / cooperation / condition
    late/ahead/latency/intervention=oracle    and every other factor that is there
    late/ahead/latency/driver=idm
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Literal

from harness.records.names import NOTHING, escape_file_name, unescape_file_name

SYSTEM, COOPERATION, CONDITION = CORE = ("system", "cooperation", "condition")
"""The factors of every arm, in the order of its name."""
NONE = "none"
"""The value of a factor that is not there."""
DRIVER: Literal["driver"] = "driver"
"""The factor of who drives by the boxes."""
DEFAULT_DRIVER = "default"
"""The driver that no arm names."""
LINK: Literal["link"] = "link"
"""The factor of the radio link."""
IDEAL_LINK = "ideal"
"""The link that no arm names: nothing is late or lost on it."""
BRAKES: Literal["brakes"] = "brakes"
"""The factor of the ego's brakes."""
DEFAULT_BRAKES = "default"
"""The brakes that no arm names: those of the simulator."""
MESSAGE_FORMAT: Literal["message_format"] = "message_format"
"""The factor of how messages are written as bytes."""
NATIVE_FORMAT = "native"
"""The format that no arm names: the payload as the system shares it."""
ATTACK: Literal["attack"] = "attack"
"""The factor of how partners lie; absent where none does."""
DEFENCE: Literal["defence"] = "defence"
"""The factor of what judges messages between channel and fusion; absent where nothing does."""
COMPENSATE: Literal["compensate"] = "compensate"
"""The factor of what makes up for the age of messages; absent where nothing does."""
COMPUTE: Literal["compute"] = "compute"
"""The factor of how long agents compute; absent where nothing takes time."""
PARTNER_FLEET: Literal["partners"] = "partners"
"""The factor of the systems that partners use."""
SAME_SYSTEM: Literal["own"] = "own"
"""The fleet that no arm names: all partners use the system of the ego."""
ABSENT_VALUES: Mapping[str, str] = {
    BRAKES: DEFAULT_BRAKES,
    DRIVER: DEFAULT_DRIVER,
    LINK: IDEAL_LINK,
    MESSAGE_FORMAT: NATIVE_FORMAT,
    PARTNER_FLEET: SAME_SYSTEM,
}
"""The values of factors that are not there, where it is not `none`."""
FACTOR = re.compile(r"[a-z][a-z0-9_]{0,39}")
SHOWN_APART = " / "


@dataclass(frozen=True, slots=True, order=True)
class Arm:
    """Factors by name; made by `Arm.from_factors`, so that equal arms are equal.

    Attributes:
        factors: names and values; those of every arm come first.
    """

    factors: tuple[tuple[str, str], ...]

    @staticmethod
    def from_factors(factors: Mapping[str, str] | None = None, /, **more: str) -> Arm:
        """Return the arm with these factors; those of every arm come first, others by name.

        Args:
            factors: values by name; a factor that is not given is absent, as is one at `none`.
            more: the same, as keywords.

        Raises:
            ValueError: a factor's name has other characters than a to z, 0 to 9 and _.
        """
        given = {**(factors or {}), **more}
        for name in given:
            if not FACTOR.fullmatch(name):
                raise ValueError(f"{name!r}: a factor's name has a to z, 0 to 9 and _ only")
        others = sorted(
            name for name, value in given.items() if name not in CORE and is_there(name, value)
        )
        return Arm(tuple((name, given.get(name, NONE)) for name in (*CORE, *others)))

    @staticmethod
    def parse_name(text: str) -> Arm:
        """Return the arm of a name such as `late/ahead/latency`."""
        return _parse_arm(text)

    def __getitem__(self, factor: str) -> str:
        """Return a factor's value; that of absence, mostly `none`, for one that is not there."""
        absent = get_absent_value(factor)
        return next((value for name, value in self.factors if name == factor), absent)

    @property
    def names(self) -> tuple[str, ...]:
        """The factors that the arm names."""
        return tuple(name for name, _ in self.factors)

    @property
    def system(self) -> str:
        """The system under test."""
        return self[SYSTEM]

    @property
    def cooperation(self) -> str:
        """Who cooperates; `none` for systems that read no messages."""
        return self[COOPERATION]

    @property
    def condition(self) -> str:
        """What disturbs the channel."""
        return self[CONDITION]

    def replace_factors(self, **changes: str) -> Arm:
        """Return this arm with other values of some factors."""
        return Arm.from_factors(dict(self.factors) | changes)

    def get_values(self, factors: Iterable[str]) -> tuple[str, ...]:
        """Return the values of some factors.

        Args:
            factors: names; the value of absence for one that the arm lacks.
        """
        return tuple(self[name] for name in factors)

    @property
    def path(self) -> PurePosixPath:
        """The arm's folder below `episodes/`."""
        return PurePosixPath(
            *(escape_file_name(value) for _, value in self.factors[: len(CORE)]),
            *(f"{name}={escape_file_name(value)}" for name, value in self.factors[len(CORE) :]),
        )

    @staticmethod
    def from_path(parts: Sequence[str]) -> Arm:
        """Return the arm whose folders these are.

        Args:
            parts: names of the folders below `episodes/`, from the system on.

        Raises:
            ValueError: the folders are not those of an arm.
        """
        return _make_arm([*parts], unescape_file_name)

    def __str__(self) -> str:
        return "/".join(
            value if name in CORE else f"{name}={value}"
            for name, value in ((name, escape_key_value(value)) for name, value in self.factors)
        )


def get_absent_value(factor: str) -> str:
    """Return the value that a factor has where an arm does not name it."""
    return ABSENT_VALUES.get(factor, NONE)


def is_there(factor: str, value: str) -> bool:
    """Return whether a factor at this value belongs to an arm's name."""
    return value not in (NONE, get_absent_value(factor))


def list_varying_factors(arms: Iterable[Arm]) -> tuple[str, ...]:
    """Return the factors in which arms differ; system and condition are always among them.

    Args:
        arms: of one campaign or table.

    Returns:
        Names: the system, the condition, and others without which two arms would look equal.
    """
    arms = set(arms)
    others = sorted({name for arm in arms for name in arm.names} - {*CORE})
    factors = [*CORE, *others]
    # a factor is left out if no two arms are alike without it; the cooperation goes last
    for name in (*reversed(others), COOPERATION):
        rest = [factor for factor in factors if factor != name]
        if len({arm.get_values(rest) for arm in arms}) == len(arms):
            factors = rest
    return tuple(factors)


def format_arm_label(arm: Arm, factors: Sequence[str]) -> str:
    """Return the label of an arm by these factors: `late / latency`.

    Args:
        arm: what is labelled.
        factors: those that vary among the arms shown, in this order.
    """
    return SHOWN_APART.join(arm.get_values(factors))


SYSTEM_ORDER = (
    "single",
    "late",
    "early",
    *("fcooper", "attfuse", "disconet", "v2vnet", "v2xvit", "codriving", "v2xverse"),
    "opencood",
)
"""How tables list systems: alone, then late, early and intermediate fusion."""
LAST_SYSTEMS = ("ideal_single", "ideal_late", "oracle")
"""Systems with perfect perception, behind all others."""


def rank_system(name: str) -> int:
    """Return a system's place in tables; systems of the user come before the ideal ones."""
    places = (*SYSTEM_ORDER, "", *LAST_SYSTEMS)
    return places.index(name if name in places else "")


def make_arm_sort_key(arm: Arm) -> tuple[tuple[int, str], ...]:
    """Return how arms are sorted: by kind of system, then factor by factor, absence first."""
    return make_factor_sort_key([value for _, value in arm.factors])


def make_factor_sort_key(values: Sequence[str]) -> tuple[tuple[int, str], ...]:
    """Return how the values of factors are sorted: systems by kind, absence before all others.

    Args:
        values: of factors, the system first.

    Returns:
        A key for `sorted`: equal lists of factors give comparable keys.
    """
    system, *others = values
    plain = (NONE, *ABSENT_VALUES.values())
    return ((rank_system(system), system), *((value not in plain, value) for value in others))


def is_arm_meant(text: str, arm: Arm) -> bool:
    """Return whether an arm is meant: some of its name's parts, in order, the system first.

    `late`, `late/latency` and `late/ahead/latency` all mean the last one.

    Args:
        text: what the user typed.
        arm: the arm that may be meant.
    """
    wanted = text.split("/")
    parts = str(arm).split("/")
    if wanted[0] != parts[0]:
        return False
    rest = iter(parts)
    return all(part in rest for part in wanted)


def find_meant_arms(text: str, arms: Iterable[Arm]) -> list[Arm]:
    """Return the arms that may be meant: one, if its whole name is given.

    Args:
        text: what the user typed.
        arms: those of the campaign.

    Returns:
        None, one or several; several if the text is ambiguous.
    """
    matching = [arm for arm in arms if is_arm_meant(text, arm)]
    return [arm for arm in matching if str(arm) == text] or matching


def escape_key_value(value: str) -> str:
    """Return a value as keys have it: whatever people write, but for what parts a key."""
    return value.replace("%", "%25").replace("/", "%2F") or NOTHING


def unescape_key_value(text: str) -> str:
    """Return the value that stands so in a key."""
    return "" if text == NOTHING else text.replace("%2F", "/").replace("%25", "%")


@lru_cache(maxsize=4096)
def _parse_arm(text: str) -> Arm:
    return _make_arm(text.split("/"), unescape_key_value)


def _make_arm(parts: Sequence[str], value_of: Callable[[str], str]) -> Arm:
    """Return the arm of a name's parts; ValueError if they are no arm's.

    Args:
        parts: of the name, or of the path.
        value_of: removes the escapes from a part.
    """
    core, others = parts[: len(CORE)], parts[len(CORE) :]
    if len(core) < len(CORE):
        raise ValueError(f"not an arm: {'/'.join(parts)}")
    factors = {name: value_of(part) for name, part in zip(CORE, core, strict=True)}
    for part in others:
        name, equals, value = part.partition("=")
        named = equals and name not in factors and FACTOR.fullmatch(name)
        if not named or not is_there(name, value_of(value)):
            raise ValueError(f"not an arm: {'/'.join(parts)}")
        factors[name] = value_of(value)
    return Arm.from_factors(factors)
