"""Names of twins: the condition describes how a twin differs from its attempt."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from harness.records.keys import AttemptKey

TWINS = "twins"
"""Their folder in that of their campaign, a campaign folder itself."""
Window = tuple[int, int]
"""Ticks since the start, the last not included."""
NAMED = re.compile(
    r"(?: without (?P<without>\S+))?"
    r"(?: within (?P<windows>\d+-\d+(?:\+\d+-\d+)*))?"
    r"(?: resampled (?P<sample>\d+))?"
)


@dataclass(frozen=True, slots=True)
class TwinChange:
    """How a twin's disturbances differ; no difference is the attempt once more.

    Attributes:
        without: names of disturbances.
        windows: ticks.
        sample: number of the new random sample.
    """

    without: tuple[str, ...] = ()  # disturbances that do not happen
    windows: tuple[Window, ...] | None = None  # in which the others do
    sample: int = 0  # above 0: sampled again

    def format_condition(self, of: str) -> str:
        """Return the condition of a twin."""
        parts = [of]
        if self.without:
            parts.append(f"without {'+'.join(self.without)}")
        if self.windows is not None:
            parts.append(f"within {'+'.join(f'{first}-{end}' for first, end in self.windows)}")
        if self.sample:
            parts.append(f"resampled {self.sample}")
        return " ".join(parts)

    @staticmethod
    def from_name(name: str) -> TwinChange | None:
        """Return the change that stands behind a condition in the name of a twin's, if one does."""
        match = NAMED.fullmatch(name)
        if match is None:
            return None
        windows = match["windows"]
        return TwinChange(
            tuple(match["without"].split("+")) if match["without"] else (),
            None if windows is None else tuple(parse_window(part) for part in windows.split("+")),
            int(match["sample"] or 0),
        )


def parse_window(text: str) -> Window:
    """Return the window of a text such as `40-60`."""
    first, _, end = text.partition("-")
    return int(first), int(end)


def list_attempt_twins(of: AttemptKey, keys: Iterable[AttemptKey]) -> dict[TwinChange, AttemptKey]:
    """Return an attempt's twins among the attempts of their campaign.

    Args:
        of: the attempt.
        keys: of the campaign of twins.

    Returns:
        The attempt's twins, by how each differs.
    """
    changes = {}
    for key in keys:
        was, now = of.arm.condition, key.arm.condition
        # all else of the key is equal: route, seed and the arm's other factors
        if now.startswith(was) and replace(key, arm=key.arm.replace_factors(condition=was)) == of:
            change = TwinChange.from_name(now.removeprefix(was))
            if change is not None:
                changes[change] = key
    return changes
