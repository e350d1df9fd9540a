"""What one attempt is called, and where its records lie."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import quote, unquote

from harness.errors import UserError

LONGEST = 200
"""Characters of an escaped name; file systems allow 255 bytes, and a seed comes behind."""
NOTHING = "%"
"""Stands for the empty name: escaping makes no single percent sign."""
ROUTE_AND_SEED = re.compile(r"(.+)-s(0|[1-9][0-9]*)")


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
    def of(system: str, condition: str, route_and_seed: str) -> AttemptKey:
        """Return the key whose three folders these are."""
        found = ROUTE_AND_SEED.fullmatch(route_and_seed)
        if found is None:
            raise ValueError(f"not an attempt's folder: {route_and_seed}")
        return AttemptKey(named(system), named(condition), named(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.system}/{self.condition}/{self.route}-s{self.seed}"


def safe_name(name: str) -> str:
    """Return a file name for any name: it stays in its folder, is not hidden, and reads back."""
    escaped = quote(name, safe=" ()+,=@[]{}", errors="surrogatepass") or NOTHING
    if escaped.startswith("."):
        escaped = "%2E" + escaped[1:]
    if len(escaped) > LONGEST:
        raise UserError(f"{name[:40]!r}...: too long for a file's name; choose a shorter one")
    return escaped


def named(escaped: str) -> str:
    """Return the name that a safe name stands for."""
    return "" if escaped == NOTHING else unquote(escaped, errors="surrogatepass")
