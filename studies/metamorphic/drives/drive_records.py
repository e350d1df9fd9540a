"""What relations compare of a drive: how it ended, its score, its trajectory and ground truth."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from harness.records.arms import NONE, Arm
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords

TRAJECTORY = ("frame", "time", "ego_x", "ego_y", "ego_z", "ego_yaw", "speed", "station")
CONTROLS = ("throttle", "steer", "brake")
CLEAN = "clean"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveRecord:
    """One drive."""

    route: str
    seed: int
    outcome: str  # the kind of its violation, or clean
    driving_score: float  # 0 to 100

    @property
    def place(self) -> tuple[str, int]:
        """Where pairs meet."""
        return self.route, self.seed


@dataclass(frozen=True, slots=True)
class CampaignDrives:
    """The drives of a campaign by arm."""

    campaign: CampaignRecords
    by_arm: dict[Arm, dict[tuple[str, int], DriveRecord]]

    def get_source_drives(self, arm: Arm) -> dict[tuple[str, int], DriveRecord]:
        """Return the undisturbed drives that an arm's are compared with."""
        return self.by_arm.get(arm.replace_factors(condition=NONE), {})

    def compute_digest(self, arm: Arm, place: tuple[str, int]) -> str:
        """Return a digest of all bytes of a drive's trajectory and ground truth."""
        key = AttemptKey(arm, *place)
        digest = hashlib.sha256()
        frames = self.campaign.read_attempt_table("frames", key)
        boxes = self.campaign.read_attempt_table("boxes", key)
        truth = boxes[boxes["source"] == "truth"]
        tracks = self.campaign.read_attempt_table("tracks", key)
        for table, columns in (
            (frames, [*TRAJECTORY, *CONTROLS]),
            (truth, list(truth.columns)),
            (tracks, list(tracks.columns)),
        ):
            for column in columns:
                values = table[column].to_numpy()
                kind = values.dtype.kind
                flat = values.astype("U64") if kind not in "fiub" else np.ascontiguousarray(values)
                digest.update(column.encode() + flat.tobytes())
        return digest.hexdigest()


def read_campaign_drives(campaign: CampaignRecords) -> CampaignDrives:
    """Return all finished drives of a campaign."""
    by_arm: dict[Arm, dict[tuple[str, int], DriveRecord]] = {}
    for key in sorted(campaign.find_attempts()):
        ours = campaign.read_result(key)["crucible"]
        violation = ours["violation"]
        record = DriveRecord(
            route=key.route,
            seed=key.seed,
            outcome=CLEAN if violation is None else str(violation["kind"]),
            driving_score=float(ours["driving_score"]),
        )
        by_arm.setdefault(key.arm, {})[record.place] = record
    return CampaignDrives(campaign, by_arm)
