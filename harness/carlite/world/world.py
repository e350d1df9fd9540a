"""The world clients share: its present episode, its clock and who hears of it."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Protocol

from harness.carlite import towns
from harness.carlite.errors import CallError, UserError
from harness.carlite.recording.desk import RecordingDesk
from harness.carlite.towns.model import Town
from harness.carlite.traffic.manager import TrafficManager
from harness.carlite.wire import frames, snapshot
from harness.carlite.wire.records import EpisodeSettings, WeatherParameters
from harness.carlite.world.episode import WorldEpisode
from harness.carlite.world.navigation import TownNavigation

WORLD_STREAM = 1
FIRST_ACTOR = 2
ID_BLOCK = 120
"""Ids of an episode begin at a multiple of this and `FIRST_ACTOR`.

Pictures choose colours by an id's remainder, and this is a period of the choice. So an episode
looks the same whatever the server played before; ids of two episodes differ, as CARLA's do. It is
short, because instance images have 16 bits of an id.
"""
DEFAULT_STEP = 0.05
GRAVITY = 9.81
FRESH_FRAMES = 100_000
UPLOADED = "OpenDriveMap"


class StreamAudience(Protocol):
    """The readers of the world's streams."""

    def has_listener(self, stream_id: int) -> bool:
        """Whether a frame published now would reach a reader."""

    def publish(self, stream_id: int, payload: bytes) -> None:
        """Send a frame to all who listen to a stream."""


class ServerWorld:
    """Everything a call can ask about or change.

    Frames and actor ids grow from episode to episode and never repeat. A sensor's stream has the
    id of the sensor; `WORLD_STREAM` carries the snapshots.

    Attributes:
        frame: number of the latest snapshot.
        gravity: what inertial sensors take for it.
        managers: Traffic Managers that run in clients, by port.
        recording: CARLA's recorder and replayer.
    """

    def __init__(self, town: str, maps: Path | None, seed: int, audience: StreamAudience) -> None:
        self.frame = 0
        self.settings = EpisodeSettings()
        self.weather = WeatherParameters()
        self.gravity = GRAVITY
        self.managers: dict[int, tuple[str, int]] = {}
        self.recording = RecordingDesk()
        self._maps = maps
        self._seed = seed
        self._audience = audience
        self._actor_ids = count(FIRST_ACTOR)
        self._uploaded: str | None = None
        self._announce_map = False
        self.episode = WorldEpisode(1, towns.load_town(town, maps), seed, self._actor_ids)
        self.navigation = TownNavigation(self.town)

    @property
    def town(self) -> Town:
        """The present town."""
        return self.episode.town

    @property
    def traffic(self) -> TrafficManager:
        """The present episode's Traffic Manager."""
        return self.episode.traffic

    @property
    def synchronous(self) -> bool:
        """Whether the world waits for clients to move it."""
        return self.settings.synchronous_mode

    @property
    def step(self) -> float:
        """Seconds by which a tick moves the world."""
        return self.settings.fixed_delta_seconds or DEFAULT_STEP

    def list_towns(self) -> list[str]:
        """Return the names of all towns that can be loaded."""
        return towns.list_available_towns(self._maps)

    def apply_episode_settings(self, settings: EpisodeSettings) -> int:
        """Change how time runs, from the next tick on, and return the latest frame.

        An asynchronous world runs with the wall clock, so how far it got is chance. While no client
        has changed anything in it, becoming synchronous resets its time: what follows then
        depends on the calls alone.
        """
        latest = self.frame
        if settings.synchronous_mode and not self.synchronous and not self.episode.touched:
            self.episode.restart_time()
            self.frame += FRESH_FRAMES - self.frame % FRESH_FRAMES
        self.settings = settings
        return latest

    def load_town(self, name: str, reset_settings: bool) -> None:
        """Begin a new episode in the town of that name, or in the present one for an empty name."""
        self._begin_episode(self._find_town(name))
        if reset_settings:
            self.settings = EpisodeSettings()

    def upload_opendrive(self, opendrive: str) -> None:
        """Keep an OpenDRIVE text, to be loaded as the town `OpenDriveMap`."""
        self._uploaded = opendrive

    def tick(self) -> int:
        """Move the world by one step, send its streams, and return the frame."""
        self.frame += 1
        episode, dt = self.episode, self.step
        # move
        episode.advance(dt)
        self.recording.note_tick(episode, dt)
        # sense, and send: the world first, as clients wait for its frame
        records = episode.pack_records()
        sensor_frames = episode.capture_sensor_frames(
            records,
            frame=self.frame,
            dt=dt,
            gravity=self.gravity,
            has_listener=self._audience.has_listener,
            weather=self.weather,
        )
        header = frames.pack_frame_header(frames.FrameKind.WORLD, self.frame, episode.elapsed)
        flags = snapshot.MAP_CHANGE if self._announce_map else 0
        self._announce_map = False
        body = snapshot.pack_snapshot(
            records,
            episode_id=episode.number,
            platform_timestamp=episode.elapsed,
            dt=dt,
            flags=flags,
        )
        self._audience.publish(WORLD_STREAM, header + body)
        for stream_id, payload in sensor_frames:
            self._audience.publish(stream_id, payload)
        return self.frame

    def _find_town(self, name: str) -> Town:
        if not name:
            return self.town
        if name.rsplit("/", 1)[-1] != UPLOADED:
            try:
                return towns.load_town(name, self._maps)
            except UserError as problem:
                raise CallError(str(problem)) from None
        if self._uploaded is None:
            raise CallError(f"{UPLOADED}: no OpenDRIVE was sent before")
        try:
            return towns.from_opendrive(UPLOADED, self._uploaded)
        except ValueError as problem:
            raise CallError(f"{UPLOADED}: {problem}") from None

    def _begin_episode(self, town: Town) -> None:
        self.recording.stop()
        if town is not self.town:
            self.navigation = TownNavigation(town)
        self._actor_ids = count(find_next_block(next(self._actor_ids)))
        self.episode = WorldEpisode(self.episode.number + 1, town, self._seed, self._actor_ids)
        self.weather = WeatherParameters()
        self.gravity = GRAVITY
        self._announce_map = True


def find_next_block(unused: int) -> int:
    """Return the first id of the next episode, if ids from this one on are unused."""
    blocks = -(-(unused - FIRST_ACTOR) // ID_BLOCK)
    return FIRST_ACTOR + blocks * ID_BLOCK
