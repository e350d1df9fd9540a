"""A drive as a recording for the Rerun viewer: step by step while it is driven, or all at once.

Everything is sent in columns on one time line. `world` is right-handed (y negated), `above` is seen
from above in the frame of the ego's LiDAR. What is sent of an entity is shown until the next rows
of it: an entity that has been shown is sent again at every step, without rows where it is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.common.colours import COLOURS
from harness.common.pictures import encode_jpeg
from harness.types import ego_body
from harness.types.vocabulary import Floats
from harness.viewing import scene
from harness.viewing.front_view import (
    compute_world_in_camera,
    find_nearest_partner,
    project_box_edges,
)
from harness.viewing.layout import CAMERAS, build_viewer_layout
from harness.viewing.scene import BOX_COLOURS, LINES, convert_to_right_handed
from harness.viewing.step import Curve, ShownBoxes, ShownPicture, ShownStep, Sweeps

if TYPE_CHECKING:
    import rerun
    from rerun import RecordingStream

APPLICATION = "crucible"
TIME = "episode"
"""The one time line: seconds since the ego stood ready."""
EGO = (ego_body.LENGTH, ego_body.WIDTH)
"""Length and width of the ego's sign, m."""
HEIGHT = 1.6
"""Of the ego's sign, m."""
EGO_NAME = "ego"
"""The sender of the ego's pictures."""
Steps = Sequence[ShownStep]


def make_time_column(times: Sequence[float] | Floats) -> list[rerun.TimeColumn]:
    """Return the time line of some rows."""
    import rerun

    return [rerun.TimeColumn(TIME, duration=np.asarray(times, np.float64))]


def get_entity_path(*parts: str) -> str:
    """Return the path of an entity, whatever characters a sender's name has."""
    import rerun

    return str(rerun.new_entity_path(list(parts)))


class DriveStream:
    """Sends a drive to one recording."""

    def __init__(self, stream: RecordingStream, *, name: str, about: str) -> None:
        import rerun

        self._stream = stream
        self._looks: set[str] = set()
        self._agents: list[str] = []
        self._labels: dict[str, list[str]] = {}
        self._has_cameras = False
        stream.send_recording_name(name)
        stream.send_blueprint(build_viewer_layout(cameras=False))
        stream.log("/", rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        text = rerun.TextDocument(about, media_type="text/markdown")
        stream.log("about", text, static=True)

    def send_steps(self, steps: Steps, lines: Mapping[str, Sequence[Floats]]) -> None:
        """Send planning steps; lines are those of the map and of the ego's way, by kind."""
        # what is in the world and from above
        self._send_road(steps, lines)
        self._send_ego(steps)
        self._send_partners(steps)
        self._send_sights(steps)
        for source in BOX_COLOURS:
            self._send_boxes(steps, source)
        # (steps,) curves
        times = np.array([step.time for step in steps])
        speeds = np.array([step.speed for step in steps])
        self.send_plot("speed", {"ego": (times, speeds)})
        for name, part in (
            ("controls", [step.controls for step in steps]),
            ("errors", [step.errors for step in steps]),
        ):
            labels = part[0] if part else {}
            curves = {key: np.array([values[key] for values in part]) for key in labels}
            self.send_plot(name, {key: (times, values) for key, values in curves.items()})

    def send_sweeps(self, time: float, sweeps: Sweeps) -> None:
        """Send what every LiDAR saw at one step, each in a colour of its own."""
        import rerun

        for sender in self._extend_agents(sweeps):
            entity = get_entity_path("world", "lidar", sender)
            if sender not in sweeps and entity not in self._looks:
                continue
            points = sweeps.get(sender, np.zeros((0, 3), np.float32))
            colour = self._get_sender_colour(sender)
            self._send_static_look(entity, rerun.Points3D.from_fields(colors=colour, radii=-1.0))
            places = convert_to_right_handed(points.astype(np.float64))
            columns = rerun.Points3D.columns(positions=places).partition([len(points)])
            self._stream.send_columns(entity, make_time_column([time]), columns)

    def send_pictures(self, step: ShownStep, pictures: Sequence[ShownPicture]) -> None:
        """Send what front cameras of the ego and of the nearest partner see, with boxes.

        Args:
            step: its true boxes, and detections that count.
            pictures: of all agents; views of cameras are laid out when the first one comes.
        """
        if not pictures and not self._has_cameras:
            return
        if not self._has_cameras:
            self._has_cameras = True
            self._stream.send_blueprint(build_viewer_layout(cameras=True))
        ego = next((one for one in pictures if one.sender == EGO_NAME), None)
        partner = find_nearest_partner(pictures, EGO_NAME, step.lidar_in_world)
        for entity, picture in zip(CAMERAS, (ego, partner), strict=True):
            self._send_picture(f"cameras/{entity}", step, picture)

    def send_plot(self, name: str, curves: Mapping[str, Curve]) -> None:
        """Send the curves of one plot, times and values by label, each in a colour of its own."""
        import rerun

        labels = self._labels.setdefault(name, [])
        for label, (times, values) in curves.items():
            if label not in labels:
                labels.append(label)
            entity = get_entity_path(*name.split("/"), label)
            colour = scene.get_colour(labels.index(label))
            self._send_static_look(entity, rerun.SeriesLines(colors=colour, names=label))
            columns = rerun.Scalars.columns(scalars=values)
            self._stream.send_columns(entity, make_time_column(times), columns)

    def send_events(self, events: Iterable[tuple[float, str, str]]) -> None:
        """Send what happened: time, words and level, such as WARN."""
        import rerun

        times, texts, levels = zip(*events, strict=True)
        words = rerun.TextLog.columns(text=list(texts), level=list(levels))
        self._stream.send_columns("events", make_time_column(list(times)), words)

    def send_mark(self, time: float, place: tuple[float, float, float]) -> None:
        """Mark the place of a violation."""
        import rerun

        marker = rerun.Points3D.columns(
            positions=convert_to_right_handed(np.array([place])),
            colors=scene.encode_colours([COLOURS["worse"][0]]),
            radii=[0.5],
            labels=["violation"],
        )
        self._stream.send_columns("world/violation", make_time_column([time]), marker)

    def _send_static_look(self, entity: str, looks: Any) -> None:
        """Send once what does not change of an entity."""
        if entity not in self._looks:
            self._looks.add(entity)
            self._stream.log(entity, looks, static=True)

    def _extend_agents(self, names: Iterable[str]) -> list[str]:
        """Return all agents seen so far, in order of appearance."""
        self._agents += [name for name in names if name not in self._agents]
        return self._agents

    def _get_sender_colour(self, sender: str) -> int:
        return scene.get_colour(self._agents.index(sender))

    def _send_road(self, steps: Steps, lines: Mapping[str, Sequence[Floats]]) -> None:
        """Send the road round the ego, its route and its way."""
        import rerun

        times = make_time_column([step.time for step in steps])
        for kind, (name, radius) in LINES.items():
            # pieces near the ego of every step, in the world and from above
            near = [scene.select_near_lines(lines.get(kind, ()), step) for step in steps]
            counts = [len(pieces) for pieces in near]
            solid = [convert_to_right_handed(line) for pieces in near for line in pieces]
            flat = [
                scene.transform_to_top_view(line, step)
                for step, pieces in zip(steps, near, strict=True)
                for line in pieces
            ]
            # what does not change is sent once, lines with their times
            colour = scene.encode_colour(COLOURS[name][0])
            looks = rerun.LineStrips3D.from_fields(colors=colour, radii=radius)
            self._send_static_look(f"world/road/{kind}", looks)
            strips = rerun.LineStrips3D.columns(strips=solid).partition(counts)
            self._stream.send_columns(f"world/road/{kind}", times, strips)
            below = rerun.LineStrips2D.from_fields(colors=colour, radii=radius, draw_order=-1)
            self._send_static_look(f"above/road/{kind}", below)
            strips = rerun.LineStrips2D.columns(strips=flat).partition(counts)
            self._stream.send_columns(f"above/road/{kind}", times, strips)

    def _send_ego(self, steps: Steps) -> None:
        """Send the ego's sign, and where it is for views that follow it."""
        import rerun

        times = make_time_column([step.time for step in steps])
        poses = [step.ego_in_world for step in steps]
        # (steps, 3), world frame with y negated
        places = convert_to_right_handed(np.array([(pose.x, pose.y, pose.z) for pose in poses]))
        colour = COLOURS["accent"][0]
        sign = rerun.Boxes3D.columns(
            centers=places + np.array([0.0, 0.0, HEIGHT / 2]),
            half_sizes=np.tile(np.array([*EGO, HEIGHT]) / 2, (len(places), 1)),
            quaternions=scene.compute_quaternions(np.array([pose.yaw for pose in poses])),
            colors=scene.encode_colours([colour] * len(places)),
            labels=["ego"] * len(places),
        )
        self._stream.send_columns("world/ego", times, sign)
        # views that follow the ego have this as their origin
        here = rerun.Transform3D.columns(translation=places)
        self._stream.send_columns("here", times, here)
        # from above the ego never moves: an arrow that points ahead
        length, width = np.array(EGO) / 2
        sides = [(-width, length), (-width, -0.4), (0.0, -length), (width, -0.4), (width, length)]
        arrow = rerun.LineStrips2D(
            [[*sides, sides[0]]], colors=scene.encode_colour(colour), radii=0.15
        )
        self._send_static_look("above/ego", arrow)

    def _send_partners(self, steps: Steps) -> None:
        """Send partners where they are and where they believe to be."""
        import rerun

        # partners of all steps in one column, cut by their number in every step
        partners = [partner for step in steps for partner in step.partners]
        if not partners and "world/partners/true" not in self._looks:
            return
        counts = [len(step.partners) for step in steps]
        times = make_time_column([step.time for step in steps])
        # where it is, and where it believes to be
        for side, hue, size in (("true", "accent", 0.4), ("believed", "hue4", 0.25)):
            poses = [getattr(partner, side) for partner in partners]
            places = np.array([(pose.x, pose.y, pose.z) for pose in poses]).reshape(-1, 3)
            dots = rerun.Points3D.columns(
                positions=convert_to_right_handed(places),
                colors=scene.encode_colours([COLOURS[hue][0]] * len(partners)),
                radii=[size] * len(partners),
                labels=[f"{partner.sender}, {side}" for partner in partners],
            )
            entity = f"world/partners/{side}"
            self._send_static_look(entity, rerun.Points3D.from_fields(show_labels=side == "true"))
            self._stream.send_columns(entity, times, dots.partition(counts))

    def _send_sights(self, steps: Steps) -> None:
        """Send which road users every LiDAR hits: a line to each, in the LiDAR's colour."""
        import rerun

        times = make_time_column([step.time for step in steps])
        senders = dict.fromkeys(sender for step in steps for sender in step.sights)
        # one entity for every LiDAR, in its colour
        for sender in self._extend_agents(senders):
            lines = [scene.compute_sight_lines(step, sender) for step in steps]
            counts = [len(part) for part in lines]
            solid, flat = (
                get_entity_path("world", "sight", sender),
                get_entity_path("above", "sight", sender),
            )
            # a LiDAR that has hit nothing so far has no entity
            if not any(counts) and solid not in self._looks:
                continue
            colour = self._get_sender_colour(sender)
            self._send_static_look(solid, rerun.LineStrips3D.from_fields(colors=colour, radii=0.03))
            # lines in the world, then from above
            strips = [convert_to_right_handed(line) for part in lines for line in part]
            columns = rerun.LineStrips3D.columns(strips=strips).partition(counts)
            self._stream.send_columns(solid, times, columns)
            self._send_static_look(flat, rerun.LineStrips2D.from_fields(colors=colour, radii=0.06))
            seen = [
                scene.transform_to_top_view(line, step)
                for step, part in zip(steps, lines, strict=True)
                for line in part
            ]
            columns = rerun.LineStrips2D.columns(strips=seen).partition(counts)
            self._stream.send_columns(flat, times, columns)

    def _send_boxes(self, steps: Steps, source: str) -> None:
        """Send the boxes of one source, and the name of each error among them."""
        import rerun

        # boxes of all steps in one column, cut by their number in every step
        shown = [scene.select_step_boxes(step, source) for step in steps]
        counts = [len(part.patterns) for part in shown]
        times = make_time_column([step.time for step in steps])
        colours = np.concatenate([scene.choose_box_colours(part, source) for part in shown])
        labels = [label for part in shown for label in scene.make_box_labels(part, source)]
        looks = {"colors": colours, "labels": labels}
        # (boxes of all steps, 7), world frame
        geometry = [
            scene.transform_to_world(step, part) for step, part in zip(steps, shown, strict=True)
        ]
        world = np.concatenate(geometry)
        solid = rerun.Boxes3D.columns(
            centers=convert_to_right_handed(world[:, :3]),
            half_sizes=world[:, 3:6] / 2,
            quaternions=scene.compute_quaternions(world[:, 6]),
            **looks,
        )
        # in the world: solids with edges
        edges = rerun.components.FillMode.MajorWireframe
        quiet = rerun.Boxes3D.from_fields(show_labels=False, fill_mode=edges)
        self._send_static_look(f"world/{source}", quiet)
        self._stream.send_columns(f"world/{source}", times, solid.partition(counts))
        # from above: outlines in the frame of the ego's LiDAR
        local = np.concatenate([part.boxes.geometry for part in shown])
        flat = rerun.LineStrips2D.columns(strips=scene.compute_box_outlines(local), **looks)
        self._send_static_look(f"above/{source}", rerun.LineStrips2D.from_fields(show_labels=False))
        self._stream.send_columns(f"above/{source}", times, flat.partition(counts))
        self._send_errors(steps, shown, source)

    def _send_picture(self, entity: str, step: ShownStep, picture: ShownPicture | None) -> None:
        """Send a picture, its camera's name, and the edges of boxes in it; or nothing in place."""
        import rerun

        times = make_time_column([step.time])
        seen = [] if picture is None else [picture]
        blobs = rerun.EncodedImage.columns(
            blob=[encode_jpeg(one.image.pixels) for one in seen],
            media_type=["image/jpeg"] * len(seen),
        )
        self._stream.send_columns(f"{entity}/picture", times, blobs.partition([len(seen)]))
        name = rerun.Points2D.columns(
            positions=np.array([(6.0, 10.0)] * len(seen)).reshape(-1, 2),
            labels=[one.sender for one in seen],
        )
        self._send_static_look(f"{entity}/name", rerun.Points2D.from_fields(show_labels=True))
        self._stream.send_columns(f"{entity}/name", times, name.partition([len(seen)]))
        for source in ("truth", "cooperative"):
            boxes = scene.select_step_boxes(step, source)
            boxes = boxes[boxes.counted]
            lines, colours = [], []
            hues = scene.choose_box_colours(boxes, source)
            for one in seen:
                world_in_camera = compute_world_in_camera(one.lidar_in_world, one.image)
                for box, hue in zip(scene.transform_to_world(step, boxes), hues, strict=True):
                    edges = list(project_box_edges(box, world_in_camera, one.image.intrinsics))
                    lines += edges
                    colours += [hue] * len(edges)
            strips = rerun.LineStrips2D.columns(strips=lines, colors=np.array(colours, np.uint32))
            self._stream.send_columns(f"{entity}/{source}", times, strips.partition([len(lines)]))

    def _send_errors(self, steps: Steps, shown: Sequence[ShownBoxes], source: str) -> None:
        """Send a named dot on each box that shows an error."""
        import rerun

        # boxes with the name of an error
        wrong = [part[np.array([name != "" for name in part.patterns], bool)] for part in shown]
        counts = [len(part.patterns) for part in wrong]
        solid_path, flat_path = f"world/errors/{source}", f"above/errors/{source}"
        if not any(counts) and solid_path not in self._looks:
            return
        self._looks.add(solid_path)
        times = make_time_column([step.time for step in steps])
        looks = {
            "colors": np.concatenate([scene.choose_box_colours(part, source) for part in wrong]),
            "labels": [name for part in wrong for name in part.patterns],
        }
        # a dot over the box, in the world; (errors, 3)
        geometry = [
            scene.transform_to_world(step, part) for step, part in zip(steps, wrong, strict=True)
        ]
        world = np.concatenate(geometry)
        above = np.outer(world[:, 5], (0.0, 0.0, 0.75))
        places = convert_to_right_handed(world[:, :3]) + above
        solid = rerun.Points3D.columns(positions=places, **looks)
        self._stream.send_columns(solid_path, times, solid.partition(counts))
        # a dot on the box, from above: x right, y down, so LiDAR y and minus x
        local = np.concatenate([part.boxes.geometry for part in wrong])
        flat = rerun.Points2D.columns(positions=local[:, [1, 0]] * (1.0, -1.0), **looks)
        self._stream.send_columns(flat_path, times, flat.partition(counts))
