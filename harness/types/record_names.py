"""Names that records, tables and figures share: patterns, surrogates, distance bands."""

from __future__ import annotations

PATTERNS = ("LCME", "LCLE", "LADE", "CCME", "CCLE", "CADE")
"""The six cooperative error patterns."""
REST = "rest"
DIFFERENCES = (*PATTERNS, REST)
"""By what boxes on time differ from those of disturbed messages: a pattern, or none of them."""
SURROGATES = {
    "smallest_gap": "m",
    "smallest_ttc": "s",
    "smallest_pet": "s",
    "largest_drac": "m/s²",
    "near_misses": "",
    "hard_braking": "",
    "phantom_braking": "",
    "stops": "",
    "phantom_stops": "",
    "jerk_rms": "m/s³",
    "jerk_max": "m/s³",
    "mean_speed": "m/s",
    "time_to_goal": "s",
}
"""Surrogate safety measures and the cost in time, with their units; counts have none."""
BANDS = ("0_30", "30_50", "50_100")
"""Distance from the ego's LiDAR in the plane, m."""

GROUND_TRUTHS = {
    "reference": "seen (hit by the ego or the reference rig)",
    "none": "all (all road users in the window)",
    "anyone": "hit by the ego or a partner",
    "ego": "hit by the ego",
}
"""Which road users are ground truth, by `patterns.truth_filter`."""

IRRELEVANT_SETTINGS = (
    "out",
    "protocol",
    "dry_run",
    "executor",
    "progress",
    "export",
    "live",
    "attempts_per_route",
    "attempt_timeout",
    "retry_failed",
)
"""Settings that do not change results: digests and comparisons leave them out."""
