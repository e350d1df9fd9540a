"""Whatever is killed, the same command finishes the campaign, and its records are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaign.chaos import KINDS, Chaos

ROUNDS = len(KINDS)
"""`make chaos` has 300."""

pytestmark = pytest.mark.thorough


def test_campaigns_survive_whatever_is_killed(tmp_path: Path) -> None:
    chaos = Chaos(tmp_path, seed=4)
    chaos.kill(ROUNDS)
    assert chaos.tally.rounds == ROUNDS
    assert {what for what, _ in chaos.tally.kills} == set(KINDS)
    assert chaos.tally.resumes > 0
