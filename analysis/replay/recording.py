"""A drive as a recording for the Rerun viewer: the world, the ego's surroundings, curves, words.

Everything is sent in columns on one time line, seconds in the episode. `world` is right-handed (y
turned round), `above` is seen from above in the frame of the ego's LiDAR.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from analysis.drive import Drive, moment_of
from analysis.replay.curves import send_curves, send_events
from analysis.replay.layout import about, layout
from analysis.replay.sweeps import Sweeps
from analysis.replay.world import send_boxes, send_ego, send_partners, send_road, send_sweeps
from harness.files import write_whole
from harness.records.schema import SOURCES

if TYPE_CHECKING:
    import rerun


def write_recording(drive: Drive, sweeps: Sweeps, file: Path) -> None:
    """Write a recording, whole or not at all."""
    import rerun

    stream = rerun.RecordingStream(application_id="crucible")
    taken = stream.binary_stream()
    send(drive, sweeps, stream)
    content = taken.read(flush=True) or b""
    write_whole(file, lambda beside: beside.write_bytes(content))


def open_viewer(drive: Drive, sweeps: Sweeps) -> None:
    """Start the viewer and show it everything."""
    import rerun

    stream = rerun.RecordingStream(application_id="crucible")
    stream.spawn()
    send(drive, sweeps, stream)
    stream.flush()


def send(drive: Drive, sweeps: Sweeps, stream: rerun.RecordingStream) -> None:
    """Send everything there is of a drive."""
    import rerun

    moments = [moment_of(drive, row) for row in range(len(drive.frames))]
    stream.send_recording_name(str(drive.key))
    stream.send_blueprint(layout())
    stream.log("/", rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    text = rerun.TextDocument(about(drive), media_type="text/markdown")
    stream.log("about", text, static=True)
    send_road(drive, moments, stream)
    send_ego(moments, stream)
    send_partners(moments, stream)
    for source in SOURCES:
        send_boxes(moments, source, stream)
    send_curves(drive, stream)
    send_events(drive, stream)
    send_sweeps(moments, sweeps, stream)
