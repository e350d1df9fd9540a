"""The drive of one ego, tick by tick: its state, its infractions, its plans, its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import carla

from harness.campaign.attempt.actors import DrivenEgo
from harness.campaign.attempt.drive_monitor import DriveMonitor
from harness.campaign.attempt.recorder import AttemptRecorder
from harness.campaign.attempt.signals import find_signals_ahead
from harness.campaign.attempt.surrogates import build_surrogate_record
from harness.campaign.attempt.surroundings import TrackRecorder
from harness.types.vocabulary import Control
from harness.world.attempt_context import EgoState
from harness.world.rig import LidarScan, ScanningPost
from harness.world.scene import ActorRegistry, GroundTruthScene


class EgoDrive:
    """What is known of an ego's drive as it grows.

    Attributes:
        driven: the ego.
        state: in the last tick.
        recorder: its tables.
    """

    def __init__(
        self,
        driven: DrivenEgo,
        snapshot: carla.WorldSnapshot,
        registry: ActorRegistry,
        *,
        keeps_points: bool,
        kept_cameras: Sequence[str],
    ) -> None:
        self.driven = driven
        self.state = driven.vehicle.read_state(snapshot)
        perception, ego_id = driven.perception, driven.vehicle.actor.id
        # what records, and what judges
        self.recorder = AttemptRecorder(
            self.state.time,
            self.state.frame,
            ego_id=ego_id,
            tick_seconds=driven.context.tick_seconds,
            keeps_points=keeps_points,
            kept_cameras=kept_cameras,
            after_sensing=perception.counts_after_sensing,
            box_changes=perception.box_changes,
            knows_boxes=perception.knows_boxes,
        )
        self._tracks = TrackRecorder(ego_id, self.state.frame, registry)
        self._monitor = DriveMonitor(driven.context, driven.vehicle, driven.lights, driven.stops)

    @property
    def ended(self) -> bool:
        """Whether the drive is over."""
        return self.driven.drive.ended

    def choose_partners(self, snapshot: carla.WorldSnapshot) -> None:
        """Choose the partners that share the sweep of the next tick."""
        self.driven.perception.partners.choose_sharing_partners(self.state, snapshot)

    def read_state(self, snapshot: carla.WorldSnapshot) -> None:
        """Take note of where the ego is; one that has left the world stands where it left."""
        if self.driven.vehicle.present:
            self.state = self.driven.vehicle.read_state(snapshot)
        else:
            time = snapshot.timestamp.elapsed_seconds
            self.state = replace(self.state, frame=snapshot.frame, time=time, speed=0.0)

    def observe_tick(self, snapshot: carla.WorldSnapshot, scene: GroundTruthScene) -> None:
        """Record a tick, and what was done wrong in it."""
        drive = self.driven.drive
        self._tracks.add_tick(self.state.frame, scene)
        known = len(drive.infractions)
        drive.observe_tick(self._monitor.sample_tick(self.state, snapshot, scene))
        for infraction in drive.infractions[known:]:
            self.recorder.add_infraction(infraction)
            self.driven.perception.view.infraction(infraction, self.recorder.start)

    def take_agent_tick(self, snapshot: carla.WorldSnapshot) -> None:
        """Read the sensors that a system brings, before any of several egos is asked."""
        self.driven.perception.take_agent_tick(self.state, snapshot)

    def plan_step(
        self,
        snapshot: carla.WorldSnapshot,
        scene: GroundTruthScene,
        scans: Mapping[ScanningPost, LidarScan],
    ) -> None:
        """Run a planning step, and drive by it.

        Args:
            snapshot: of this tick.
            scene: all road users.
            scans: the sweeps of all driven egos.
        """
        driven, state = self.driven, self.state
        lights = find_signals_ahead(driven.lights, driven.heeded_stops, state.station)
        self.recorder.signals.add_signals(state.frame, lights)
        control = driven.perception.run_planning_step(
            state, scene, lights, self.recorder, snapshot=snapshot, scans=scans
        )
        drive_ego(driven, control, state)

    def drive_between(self, snapshot: carla.WorldSnapshot) -> None:
        """Drive in a tick between planning steps."""
        control = self.driven.perception.run_tick_between(self.state, snapshot)
        drive_ego(self.driven, control, self.state)

    def forget_ego(self, gone: DrivenEgo) -> None:
        """Hear no more of an ego whose drive is over."""
        partners = self.driven.perception.partners
        partners.egos = [one for one in partners.egos if one.carrier != gone.vehicle.actor.id]

    def close_records(self) -> None:
        """Add the measures over the whole drive."""
        self.recorder.tracks = self._tracks.build_tables()
        self.recorder.surrogates = build_surrogate_record(
            self.recorder, self.driven.drive, self.driven.context.route
        )


def drive_ego(driven: DrivenEgo, control: Control | None, state: EgoState) -> None:
    """Give the vehicle what reaches it in this tick, if anything new does.

    Args:
        driven: the ego.
        control: what the system made of this tick; None: it was not asked.
        state: of the ego in this tick.
    """
    computing = driven.perception.computing
    if computing is not None:
        control = computing.exchange_controls(control, state)
    if control is not None:
        driven.vehicle.apply_driving_control(control)
