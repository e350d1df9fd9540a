"""A small recording with pictures, of carlite: made once, and only read."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.training.collect import RecordingPlan, collect_recordings
from harness.common.pictures import PictureSettings
from tests.once import once

SIZE = PictureSettings(width=128, height=96)


def record_pictures(folder: Path) -> Path:
    """Record a scenario of three moments, with few road users."""
    collect_recordings(
        RecordingPlan(
            out=folder,
            towns=("CrucibleOld",),
            scenarios=1,
            seed=71,
            looks=3,
            interval=0.5,
            neighbours=1,
            vehicles=12,
            drivers=20,
            standing=8,
            cyclists=10,
            walkers=40,
            rig="v2xverse_cameras",
            pictures=SIZE,
        )
    )
    return folder


def make_recording(factory: pytest.TempPathFactory) -> Path:
    """Return the recording, from any worker."""
    return once(factory, "staged-pictures", record_pictures)
