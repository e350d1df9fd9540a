"""What a check finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["passed", "failed", "warning", "told", "not checked"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A check, how it ended, and a sentence: what was expected, what came, what to do."""

    check: str
    verdict: Verdict
    sentence: str = ""
