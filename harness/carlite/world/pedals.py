"""How long vehicles keep a control: till the next one; for one tick where they are not sticky."""

from __future__ import annotations

from harness.carlite.actors import ActorTable

CONTROLS = ("throttle", "steer", "brake", "hand_brake", "reverse", "manual_gear")


class LoosePedals:
    """The vehicles that drop a control after a tick, and those of them that just got one."""

    def __init__(self) -> None:
        self._loose: dict[int, None] = {}
        self._pressed: set[int] = set()

    def add_loose_vehicle(self, actor_id: int) -> None:
        """Let a vehicle drop its controls."""
        self._loose[actor_id] = None

    def forget_actor(self, actor_id: int) -> None:
        """Drop a destroyed vehicle."""
        self._loose.pop(actor_id, None)
        self._pressed.discard(actor_id)

    def note_control(self, actor_id: int) -> None:
        """Note that a vehicle got a control, which will hold for the next tick."""
        self._pressed.add(actor_id)

    def drop_stale_controls(self, table: ActorTable) -> None:
        """Take away what was not given since the last tick; snapshots still had it."""
        for actor_id in self._loose:
            if actor_id not in self._pressed:
                slot = table.find_slot(actor_id)
                for name in CONTROLS:
                    getattr(table, name)[slot] = 0
        self._pressed.clear()
