"""Several checks, one behind the other: each judges what those before it left."""

from __future__ import annotations

from collections.abc import Sequence

from harness.channel.defences.defence import Defence, DefenceScene, Judgement, apply_judgements
from harness.common.errors import UserError
from harness.types.vocabulary import Message


class Layered(Defence):
    """Checks in their order."""

    safe_from_file = True
    name = "layered"

    def __init__(self, checks: Sequence[Defence]) -> None:  # in their order
        if not checks or not all(isinstance(check, Defence) for check in checks):
            raise UserError(f"{self.name}.checks: a list with the _target_ of one defence or more")
        self.checks = list(checks)
        self.payloads = tuple(
            kind
            for kind in self.checks[0].payloads
            if all(kind in check.payloads for check in self.checks)
        )
        self.needs_points = any(check.needs_points for check in self.checks)
        self.needs_ego_boxes = any(check.needs_ego_boxes for check in self.checks)
        self.needs_fusion = any(check.needs_fusion for check in self.checks)

    def reset(self, seed: int) -> None:
        """Start an episode."""
        super().reset(seed)
        for check in self.checks:
            check.reset(seed)

    def judge_messages(self, scene: DefenceScene, messages: Sequence[Message]) -> list[Judgement]:
        """Return the judgements of all checks, in their order."""
        judgements: list[Judgement] = []
        left = tuple(messages)
        for check in self.checks:
            made = check.judge_messages(scene, left)
            left = apply_judgements(left, made)
            judgements += made
        return judgements
