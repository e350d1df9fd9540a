"""The world: one episode at a time, and a clock that moves it."""

from __future__ import annotations

from harness.carlite.world.world import WORLD_STREAM, ServerWorld, StreamAudience

__all__ = ["WORLD_STREAM", "ServerWorld", "StreamAudience"]
