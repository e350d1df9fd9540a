"""Words that name systems of partners also choose the files of these systems in `conf/system`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from harness.campaign.settings.fleets import ALL, ASSIGNMENT, CHOICE_GROUP, PLACE, SYSTEMS
from harness.records.arms import PARTNER_FLEET, SAME_SYSTEM


def add_partner_choices(overrides: Sequence[str]) -> list[str]:
    """Return the words of a command line, and one that chooses the systems that partners use.

    `partners.system=NAME` stands for `partners.system.all=NAME`, as Hydra cannot put a list where a
    group is. Hydra then reads the settings of the systems from `conf/system`, or from files of the
    user, as it does for `system=`; `partners.systems.NAME.weights=…` changes them.

    Args:
        overrides: words of the command line.
    """
    if any(word.lstrip("+~").startswith(CHOICE_GROUP) for word in overrides):
        return [*overrides]
    try:
        parsed = OverridesParser.create().parse_overrides([*overrides])
    except HydraException:
        return [*overrides]  # Hydra refuses the same word when it composes
    names: dict[str, None] = {}
    words = []
    for word, override in zip(overrides, parsed, strict=True):
        key = override.key_or_group
        of_all = key == PLACE and isinstance(override.value(), str | list)
        words.append(word.replace(PLACE, f"{PLACE}.{ALL}", 1) if of_all else word)
        if key == PLACE or key.startswith(f"{PLACE}."):
            named = {key.removeprefix(PLACE).lstrip("."): override.value()}
            names |= dict.fromkeys(iter_system_names(named))
    of_files = [name for name in names if not is_made_by_words(name, overrides)]
    more = [f"{CHOICE_GROUP}=[{','.join(of_files)}]"] if of_files else []
    return [*words, *more]


def is_made_by_words(name: str, overrides: Sequence[str]) -> bool:
    """Return whether words make a system themselves, as `+system.mine._target_=…` does."""
    places = [f"{group}.{name}" for group in ("system", f"{PARTNER_FLEET}.{SYSTEMS}")]
    return any(
        word.startswith("+") and word.lstrip("+").startswith((f"{place}._target_=", f"{place}="))
        for word in overrides
        for place in places
    )


def iter_system_names(value: Any) -> Iterator[str]:
    """Yield the systems that a setting names; `own` and a file's name are none."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if str(key) != ASSIGNMENT:
                yield from iter_system_names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from iter_system_names(inner)
    elif isinstance(value, str) and value != SAME_SYSTEM:
        yield value
