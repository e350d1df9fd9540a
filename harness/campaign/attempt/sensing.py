"""A scan as its agent gets it: weather and disturbances act on points and pictures."""

from __future__ import annotations

from dataclasses import replace

from harness.channel.channel import Channel
from harness.types.vocabulary import Kind, Observation
from harness.world.rig import LidarScan


def sense_scan(channel: Channel, scan: LidarScan, *, sender: str, kind: Kind) -> LidarScan:
    """Return a scan with the points that the LiDAR returns in this air; hits stay.

    Args:
        channel: of the attempt.
        scan: of the geometry.
        sender: whose it is; each has a stream of random numbers.
        kind: of the sender.
    """
    captured = make_observation(scan, sender=sender, kind=kind)
    sweep = channel.sense_sweep(captured, scan.surfaces, scan.sensitivity)
    return replace(
        scan,
        points_in_lidar=sweep.points_in_lidar,
        surfaces=sweep.surfaces,
        images=channel.see_images(captured),
    )


def make_observation(scan: LidarScan, *, sender: str, kind: Kind) -> Observation:
    """Return what an agent observes in a scan, with its true pose.

    Args:
        scan: as its LiDAR returns it in this air.
        sender: whose it is.
        kind: of the sender.
    """
    return Observation(
        sender=sender,
        kind=kind,
        frame=scan.frame,
        time=scan.time,
        lidar_in_world=scan.lidar_in_world,
        points_in_lidar=scan.points_in_lidar,
        images=scan.images,
    )
