"""Perfect perception: every road user within range, visible or not."""

from __future__ import annotations

from agents.driving.settings import DrivingSettings
from agents.ground_truth import WHOLE_RANGE, IdealSystem


class Oracle(IdealSystem):
    """Perceives the ground truth and drives by it; what can still go wrong is the driving."""

    safe_from_file = True

    def __init__(
        self,
        range_window: tuple[float, float] = WHOLE_RANGE,  # m ahead and behind, m to either side
        driving: DrivingSettings | None = None,  # settings of the shared driver; null: the defaults
    ) -> None:
        super().__init__(0, range_window, driving)
