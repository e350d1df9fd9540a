"""Reputation: a sender that another check rejects again and again is not listened to.

Beta reputation (Jøsang and Ismail, The Beta Reputation System, Bled eCommerce Conference 2002): a
sender's trust is the mean of a beta distribution, (r + 1) / (r + s + 2), of its messages r that a
check passed and s of which it rejected something. Both are forgotten by a factor with each message.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.channel.defences.defence import (
    Defence,
    DefenceScene,
    Judgement,
    apply_judgements,
    keep_all,
)
from harness.common.errors import UserError
from harness.types.vocabulary import Message


class Reputation(Defence):
    """Rejects what a check rejects, and all messages of senders below a trust."""

    safe_from_file = True
    name = "reputation"

    def __init__(
        self,
        witness: Defence,  # the check whose verdicts are the evidence
        *,
        threshold: float = 0.4,  # of trust, 0 to 1; below it, a sender's messages are rejected
        forgetting: float = 0.95,  # factor, by which earlier evidence counts less with each message
    ) -> None:
        if not isinstance(witness, Defence):
            raise UserError(f"{self.name}.witness needs the _target_ of a defence")
        if not 0 <= threshold <= 1:
            raise UserError(f"{self.name}.threshold = {threshold:g}: must be from 0 to 1")
        if not 0 < forgetting <= 1:
            raise UserError(f"{self.name}.forgetting = {forgetting:g}: must be > 0 and ≤ 1")
        self.witness, self.threshold, self.forgetting = witness, threshold, forgetting
        self.payloads = witness.payloads
        self.needs_points, self.needs_ego_boxes = witness.needs_points, witness.needs_ego_boxes
        self.needs_fusion = witness.needs_fusion
        self._evidence: dict[str, tuple[float, float]] = {}
        self._heard: dict[str, int] = {}

    def reset(self, seed: int) -> None:
        """Start an episode in which no sender is known."""
        super().reset(seed)
        self.witness.reset(seed)
        self._evidence, self._heard = {}, {}

    def judge_messages(self, scene: DefenceScene, messages: Sequence[Message]) -> list[Judgement]:
        """Return the witness's judgements, then those of the senders' trust."""
        judgements = self.witness.judge_messages(scene, messages)
        for message in messages:
            of_sender = [one for one in judgements if one.message.sender == message.sender]
            # a message that is given again at a later step is no new evidence
            new = self._heard.get(message.sender) != message.capture_frame
            if new and any(one.judged for one in of_sender):
                self._heard[message.sender] = message.capture_frame
                self._add_evidence(message.sender, bad=any(one.rejects for one in of_sender))
        left = apply_judgements(messages, judgements)
        return [
            *judgements,
            *(
                Judgement(
                    check=self.name,
                    message=message,
                    kept=keep_all(message),
                    whole=self.compute_trust(message.sender) < self.threshold,
                )
                for message in left
            ),
        ]

    def compute_trust(self, sender: str) -> float:
        """Return the trust in a sender, 0 to 1; 0.5 of an unknown one."""
        good, bad = self._evidence.get(sender, (0.0, 0.0))
        return (good + 1.0) / (good + bad + 2.0)

    def _add_evidence(self, sender: str, *, bad: bool) -> None:
        before = self._evidence.get(sender, (0.0, 0.0))
        good_before, bad_before = (self.forgetting * value for value in before)
        self._evidence[sender] = (good_before + (not bad), bad_before + bad)
