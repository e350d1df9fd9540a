"""Perfect single-agent perception: the best that a vehicle without partners could do."""

from __future__ import annotations

from agents.ground_truth import IdealSystem


class IdealSingle(IdealSystem):
    """Detects every road user that the ego's LiDAR hits; hidden ones are missed."""

    safe_from_file = True
