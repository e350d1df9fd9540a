"""What one attempt is called, and where its records lie."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import quote, unquote


@dataclass(frozen=True, slots=True, order=True)
class AttemptKey:
    """One system on one route under one condition with one seed."""

    system: str
    condition: str
    route: str
    seed: int

    @property
    def path(self) -> PurePosixPath:
        """The attempt's folder below `episodes/`."""
        return PurePosixPath(
            safe_name(self.system),
            safe_name(self.condition),
            f"{safe_name(self.route)}-s{self.seed}",
        )

    @staticmethod
    def of(path: PurePosixPath) -> AttemptKey:
        """Return the key whose folder this is."""
        system, condition, last = path.parts[-3:]
        route, mark, seed = last.rpartition("-s")
        if not mark or not seed.isdecimal():
            raise ValueError(f"not an attempt's folder: {path}")
        return AttemptKey(unquote(system), unquote(condition), unquote(route), int(seed))

    def __str__(self) -> str:
        return f"{self.system}/{self.condition}/{self.route}-s{self.seed}"


def safe_name(name: str) -> str:
    """Return a name that stays inside its folder, whatever a user's file calls it."""
    escaped = quote(name, safe=" ()+,=@[]{}")
    if re.fullmatch(r"\.*", escaped):
        escaped = escaped.replace(".", "%2E") or "%"
    if len(escaped) > 200:
        raise ValueError(f"name too long: {name[:40]!r}...")
    return escaped
