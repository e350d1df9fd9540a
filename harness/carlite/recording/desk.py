"""The recorder and the replayer of a world: at most one of them works at a time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.carlite.errors import CallError
from harness.carlite.recording.files import locate_recording
from harness.carlite.recording.packets import RecordingError
from harness.carlite.recording.recorder import WorldRecorder
from harness.carlite.recording.replayer import (
    DriveReplayer,
    RecordedDrive,
    ReplayOptions,
    load_recorded_drive,
)

if TYPE_CHECKING:
    from harness.carlite.wire.records import Transform
    from harness.carlite.world.episode import WorldEpisode


class RecordingDesk:
    """Starts and stops recording and replaying, and lets both follow the world's ticks.

    Attributes:
        options: for the next replay.
        folder: where relative names of logs are taken; None for the working folder.
    """

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.options = ReplayOptions()
        self._recorder: WorldRecorder | None = None
        self._replayer: DriveReplayer | None = None

    def locate(self, name: str) -> Path:
        """Return where the log of that name lies."""
        return locate_recording(name, self.folder)

    def start_recorder(self, name: str, town: str, *, additional: bool) -> Path:
        """Begin a log and return where it lies."""
        self.stop()
        path = self.locate(name)
        self._recorder = WorldRecorder(path, town, additional=additional)
        return path

    def stop_recorder(self) -> None:
        """End the log."""
        if self._recorder is not None:
            self._recorder.close()
        self._recorder = None

    def stop_replayer(self, *, keep_actors: bool) -> None:
        """End the replay."""
        if self._replayer is not None:
            self._replayer.stop(keep_actors=keep_actors)
        self._replayer = None

    def stop(self) -> None:
        """End both, as when the episode ends."""
        self.stop_recorder()
        self.stop_replayer(keep_actors=True)

    def start_replayer(
        self,
        drive: RecordedDrive,
        episode: WorldEpisode,
        span: tuple[float, float],
        follow: tuple[int, Transform],
    ) -> str:
        """Begin a replay and return CARLA's words about it.

        Args:
            drive: the log.
            episode: where it is played.
            span: when to start (negative: before the end) and for how long (0: to the end).
            follow: the recorded actor that the spectator follows, 0 for none, and from where.
        """
        start, duration = span
        total = drive.total
        start = max(total + start, 0.0) if start < 0.0 else start
        end = start + duration if duration > 0.0 else total
        self._replayer = DriveReplayer(drive, episode, self.options)
        self._replayer.end = end
        self._replayer.follow, self._replayer.view = follow
        self._replayer.advance(start)
        factor = self.options.time_factor
        text = f"Total time recorded: {total:g}\n"
        text += f"Replaying from {start:g} s - {end:g} s ({total:g} s) at {factor:.1f}x\n"
        text += "Ignoring Hero vehicle\n" if self.options.ignore_hero else ""
        text += "Ignoring Spectator camera\n" if self.options.ignore_spectator else ""
        return text + (f"The file is damaged: {drive.damage}\n" if drive.damage else "")

    def note_tick(self, episode: WorldEpisode, dt: float) -> None:
        """Record the tick that has passed, or put the replay's actors in their places."""
        if self._recorder is not None:
            try:
                self._recorder.write_tick(episode, dt)
            except OSError:
                self.stop_recorder()
        elif self._replayer is not None and self._replayer.playing:
            self._replayer.advance(dt * self.options.time_factor, dt)


def find_drive(path: Path) -> RecordedDrive | str:
    """Return a log, or the text that says why there is none."""
    if not path.is_file():
        return f"File {path} not found on server\n"
    try:
        drive = load_recorded_drive(path)
    except RecordingError as damage:
        return f"{damage}\n"
    except OSError as problem:
        raise CallError(f"replay_file: {path}: {problem.strerror}") from None
    return drive if drive.frames else f"File {path} holds no frames\n"
