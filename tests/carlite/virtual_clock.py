"""An event loop whose time passes only while it waits: what takes hours is over at once."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any


class SkippingSelector(selectors.DefaultSelector):
    """Skips the time that it is asked to wait."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        """Return what is ready now, later by the timeout."""
        self.now += max(timeout or 0.0, 0.0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop at whose clock nothing takes time but waiting, and what `spend` says."""

    def __init__(self) -> None:
        self._clock = SkippingSelector()
        super().__init__(self._clock)

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._clock.now

    def spend(self, seconds: float) -> None:
        """Let time pass, as work does."""
        self._clock.now += seconds
