"""When a client's tick may run.

Two things can make it wait. A stream the client was just given may not be open yet, and a
patient reader may be behind: then a frame would be lost. And a client that runs its own Traffic
Manager needs a pause: the wheel's worker thread goes to sleep on a condition variable that the
ticking thread signals without its mutex, and a signal in between is lost for ever. After a step the
worker sends a batch, then `get_episode_settings`, then sleeps; `WorkerGate` keeps the tick away
from that moment. It lowers the odds of a hang; only the server's own Traffic Manager has none.
"""

from __future__ import annotations

import time

from harness.carlite.rpc import CallRequest
from harness.carlite.streams import StreamHub

GAP = 0.0015
LONGEST = 0.02


class StreamGate:
    """For a client without a Traffic Manager: its ticks run as soon as its streams are ready."""

    def __init__(self, streams: StreamHub) -> None:
        self._streams = streams

    def note_request(self, request: CallRequest) -> None:
        """Nothing to learn."""

    def can_tick(self) -> bool:
        """Whether every reader would get the frame."""
        return self._streams.has_all_readers() and self._streams.is_settled()


class WorkerGate(StreamGate):
    """For a client that may run a Traffic Manager of its own: its worker thread must sleep."""

    def __init__(self, streams: StreamHub) -> None:
        super().__init__(streams)
        self._managed = False
        self._settled = True
        self._not_before = 0.0

    def note_request(self, request: CallRequest) -> None:
        """Follow the worker thread through its step."""
        now = time.monotonic()
        if request.name == "add_traffic_manager_running":
            self._managed = True
        elif request.name == "apply_batch" and self._managed and not request.asynchronous:
            self._settled, self._not_before = False, now + LONGEST
        elif request.name == "get_episode_settings" and not self._settled:
            self._settled, self._not_before = True, now + GAP

    def can_tick(self) -> bool:
        """Whether the worker has had the time to fall asleep."""
        return time.monotonic() >= self._not_before and super().can_tick()
