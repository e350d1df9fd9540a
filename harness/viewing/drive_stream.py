"""A drive as a recording for the Rerun viewer: step by step while it is driven, or all at once.

Everything is sent in columns on one time line. `world` is right-handed (y negated), `above` is seen
from above in the frame of the ego's LiDAR. What is sent of an entity is shown until the next rows
of it: an entity that has been shown is sent again at every step, without rows where it is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import ego_body
from harness.colours import COLOURS
from harness.viewing import scene
from harness.viewing.layout import layout
from harness.viewing.scene import BOX_COLOURS, LINES, right_handed
from harness.viewing.step import Curve, ShownBoxes, ShownStep, Sweeps
from harness.vocabulary import Floats

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
Steps = Sequence[ShownStep]


def times_of(times: Sequence[float] | Floats) -> list[rerun.TimeColumn]:
    """Return the time line of some rows."""
    import rerun

    return [rerun.TimeColumn(TIME, duration=np.asarray(times, np.float64))]


def path_of(*parts: str) -> str:
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
        stream.send_recording_name(name)
        stream.send_blueprint(layout())
        stream.log("/", rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        text = rerun.TextDocument(about, media_type="text/markdown")
        stream.log("about", text, static=True)

    def steps(self, steps: Steps, lines: Mapping[str, Sequence[Floats]]) -> None:
        """Send planning steps; lines are those of the map and of the ego's way, by kind."""
        self._road(steps, lines)
        self._ego(steps)
        self._partners(steps)
        self._sights(steps)
        for source in BOX_COLOURS:
            self._boxes(steps, source)
        times = np.array([step.time for step in steps])
        speeds = np.array([step.speed for step in steps])
        self.plot("speed", {"ego": (times, speeds)})
        for name, part in (
            ("controls", [step.controls for step in steps]),
            ("errors", [step.errors for step in steps]),
        ):
            labels = part[0] if part else {}
            curves = {key: np.array([values[key] for values in part]) for key in labels}
            self.plot(name, {key: (times, values) for key, values in curves.items()})

    def sweeps(self, time: float, sweeps: Sweeps) -> None:
        """Send what every LiDAR saw at one step, each in a colour of its own."""
        import rerun

        for sender in self._known_with(sweeps):
            entity = path_of("world", "lidar", sender)
            if sender not in sweeps and entity not in self._looks:
                continue
            points = sweeps.get(sender, np.zeros((0, 3), np.float32))
            colour = self._hue(sender)
            self._look(entity, rerun.Points3D.from_fields(colors=colour, radii=-1.0))
            places = right_handed(points.astype(np.float64))
            columns = rerun.Points3D.columns(positions=places).partition([len(points)])
            self._stream.send_columns(entity, times_of([time]), columns)

    def plot(self, name: str, curves: Mapping[str, Curve]) -> None:
        """Send the curves of one plot, times and values by label, each in a colour of its own."""
        import rerun

        labels = self._labels.setdefault(name, [])
        for label, (times, values) in curves.items():
            if label not in labels:
                labels.append(label)
            entity = path_of(*name.split("/"), label)
            colour = scene.hue_of(labels.index(label))
            self._look(entity, rerun.SeriesLines(colors=colour, names=label))
            columns = rerun.Scalars.columns(scalars=values)
            self._stream.send_columns(entity, times_of(times), columns)

    def events(self, events: Iterable[tuple[float, str, str]]) -> None:
        """Send what happened: time, words and level, such as WARN."""
        import rerun

        times, texts, levels = zip(*events, strict=True)
        words = rerun.TextLog.columns(text=list(texts), level=list(levels))
        self._stream.send_columns("events", times_of(list(times)), words)

    def mark(self, time: float, place: tuple[float, float, float]) -> None:
        """Mark the place of a violation."""
        import rerun

        marker = rerun.Points3D.columns(
            positions=right_handed(np.array([place])),
            colors=scene.hues([COLOURS["worse"][0]]),
            radii=[0.5],
            labels=["violation"],
        )
        self._stream.send_columns("world/violation", times_of([time]), marker)

    def _look(self, entity: str, looks: Any) -> None:
        """Send once what does not change of an entity."""
        if entity not in self._looks:
            self._looks.add(entity)
            self._stream.log(entity, looks, static=True)

    def _known_with(self, names: Iterable[str]) -> list[str]:
        """Return all agents seen so far, in order of appearance."""
        self._agents += [name for name in names if name not in self._agents]
        return self._agents

    def _hue(self, sender: str) -> int:
        return scene.hue_of(self._agents.index(sender))

    def _road(self, steps: Steps, lines: Mapping[str, Sequence[Floats]]) -> None:
        """Send the road round the ego, its route and its way."""
        import rerun

        times = times_of([step.time for step in steps])
        for kind, (name, radius) in LINES.items():
            near = [scene.near(lines.get(kind, ()), step) for step in steps]
            counts = [len(pieces) for pieces in near]
            solid = [right_handed(line) for pieces in near for line in pieces]
            flat = [
                scene.from_above(line, step)
                for step, pieces in zip(steps, near, strict=True)
                for line in pieces
            ]
            colour = scene.rgba(COLOURS[name][0])
            looks = rerun.LineStrips3D.from_fields(colors=colour, radii=radius)
            self._look(f"world/road/{kind}", looks)
            strips = rerun.LineStrips3D.columns(strips=solid).partition(counts)
            self._stream.send_columns(f"world/road/{kind}", times, strips)
            below = rerun.LineStrips2D.from_fields(colors=colour, radii=radius, draw_order=-1)
            self._look(f"above/road/{kind}", below)
            strips = rerun.LineStrips2D.columns(strips=flat).partition(counts)
            self._stream.send_columns(f"above/road/{kind}", times, strips)

    def _ego(self, steps: Steps) -> None:
        """Send the ego's sign, and where it is for views that follow it."""
        import rerun

        times = times_of([step.time for step in steps])
        poses = [step.ego_in_world for step in steps]
        places = right_handed(np.array([(pose.x, pose.y, pose.z) for pose in poses]))
        colour = COLOURS["accent"][0]
        sign = rerun.Boxes3D.columns(
            centers=places + np.array([0.0, 0.0, HEIGHT / 2]),
            half_sizes=np.tile(np.array([*EGO, HEIGHT]) / 2, (len(places), 1)),
            quaternions=scene.quaternions(np.array([pose.yaw for pose in poses])),
            colors=scene.hues([colour] * len(places)),
            labels=["ego"] * len(places),
        )
        self._stream.send_columns("world/ego", times, sign)
        here = rerun.Transform3D.columns(translation=places)
        self._stream.send_columns("here", times, here)
        length, width = np.array(EGO) / 2
        sides = [(-width, length), (-width, -0.4), (0.0, -length), (width, -0.4), (width, length)]
        arrow = rerun.LineStrips2D([[*sides, sides[0]]], colors=scene.rgba(colour), radii=0.15)
        self._look("above/ego", arrow)

    def _partners(self, steps: Steps) -> None:
        """Send partners where they are and where they believe to be."""
        import rerun

        partners = [partner for step in steps for partner in step.partners]
        if not partners and "world/partners/true" not in self._looks:
            return
        counts = [len(step.partners) for step in steps]
        times = times_of([step.time for step in steps])
        for side, hue, size in (("true", "accent", 0.4), ("believed", "hue4", 0.25)):
            poses = [getattr(partner, side) for partner in partners]
            places = np.array([(pose.x, pose.y, pose.z) for pose in poses]).reshape(-1, 3)
            dots = rerun.Points3D.columns(
                positions=right_handed(places),
                colors=scene.hues([COLOURS[hue][0]] * len(partners)),
                radii=[size] * len(partners),
                labels=[f"{partner.sender}, {side}" for partner in partners],
            )
            entity = f"world/partners/{side}"
            self._look(entity, rerun.Points3D.from_fields(show_labels=side == "true"))
            self._stream.send_columns(entity, times, dots.partition(counts))

    def _sights(self, steps: Steps) -> None:
        """Send which road users every LiDAR hits: a line to each, in the LiDAR's colour."""
        import rerun

        times = times_of([step.time for step in steps])
        senders = dict.fromkeys(sender for step in steps for sender in step.sights)
        for sender in self._known_with(senders):
            lines = [scene.sight_lines(step, sender) for step in steps]
            counts = [len(part) for part in lines]
            solid, flat = path_of("world", "sight", sender), path_of("above", "sight", sender)
            if not any(counts) and solid not in self._looks:
                continue
            colour = self._hue(sender)
            self._look(solid, rerun.LineStrips3D.from_fields(colors=colour, radii=0.03))
            strips = [right_handed(line) for part in lines for line in part]
            columns = rerun.LineStrips3D.columns(strips=strips).partition(counts)
            self._stream.send_columns(solid, times, columns)
            self._look(flat, rerun.LineStrips2D.from_fields(colors=colour, radii=0.06))
            seen = [
                scene.from_above(line, step)
                for step, part in zip(steps, lines, strict=True)
                for line in part
            ]
            columns = rerun.LineStrips2D.columns(strips=seen).partition(counts)
            self._stream.send_columns(flat, times, columns)

    def _boxes(self, steps: Steps, source: str) -> None:
        """Send the boxes of one source, and the name of each error among them."""
        import rerun

        shown = [scene.shown_of(step, source) for step in steps]
        counts = [len(part.patterns) for part in shown]
        times = times_of([step.time for step in steps])
        colours = np.concatenate([scene.colours_of(part, source) for part in shown])
        labels = [label for part in shown for label in scene.labels_of(part, source)]
        looks = {"colors": colours, "labels": labels}
        geometry = [scene.in_world(step, part) for step, part in zip(steps, shown, strict=True)]
        world = np.concatenate(geometry)
        solid = rerun.Boxes3D.columns(
            centers=right_handed(world[:, :3]),
            half_sizes=world[:, 3:6] / 2,
            quaternions=scene.quaternions(world[:, 6]),
            **looks,
        )
        edges = rerun.components.FillMode.MajorWireframe
        quiet = rerun.Boxes3D.from_fields(show_labels=False, fill_mode=edges)
        self._look(f"world/{source}", quiet)
        self._stream.send_columns(f"world/{source}", times, solid.partition(counts))
        local = np.concatenate([part.boxes.geometry for part in shown])
        flat = rerun.LineStrips2D.columns(strips=scene.outlines_from_above(local), **looks)
        self._look(f"above/{source}", rerun.LineStrips2D.from_fields(show_labels=False))
        self._stream.send_columns(f"above/{source}", times, flat.partition(counts))
        self._errors(steps, shown, source)

    def _errors(self, steps: Steps, shown: Sequence[ShownBoxes], source: str) -> None:
        """Send a named dot on each box that shows an error."""
        import rerun

        wrong = [part[np.array([name != "" for name in part.patterns], bool)] for part in shown]
        counts = [len(part.patterns) for part in wrong]
        solid_path, flat_path = f"world/errors/{source}", f"above/errors/{source}"
        if not any(counts) and solid_path not in self._looks:
            return
        self._looks.add(solid_path)
        times = times_of([step.time for step in steps])
        looks = {
            "colors": np.concatenate([scene.colours_of(part, source) for part in wrong]),
            "labels": [name for part in wrong for name in part.patterns],
        }
        geometry = [scene.in_world(step, part) for step, part in zip(steps, wrong, strict=True)]
        world = np.concatenate(geometry)
        above = np.outer(world[:, 5], (0.0, 0.0, 0.75))
        places = right_handed(world[:, :3]) + above
        solid = rerun.Points3D.columns(positions=places, **looks)
        self._stream.send_columns(solid_path, times, solid.partition(counts))
        local = np.concatenate([part.boxes.geometry for part in wrong])
        flat = rerun.Points2D.columns(positions=local[:, [1, 0]] * (1.0, -1.0), **looks)
        self._stream.send_columns(flat_path, times, flat.partition(counts))
