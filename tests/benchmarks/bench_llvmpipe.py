"""Colour pictures next to Mesa's llvmpipe, which draws the same triangles.

Both draw the same views of street places in one run. A second is one of processors, so that other
work on the machine counts little; the rounds of both follow one another, and the best of each is
taken. carlite casts, or paints whole pictures in sun. llvmpipe draws with Lambert's law and one
texture that is computed, or with the ground's labels, a map of shadows, a sky and haze as well; it
draws with one and with four samples a pixel, and its pixels are read back.

What both prepare for a scene is not counted: carlite's shadows and sky, and llvmpipe's buffers and
map of shadows. llvmpipe gets only the faces that may be in view, sorted from near to far; for
carlite, finding them is part of a picture. The ground, which carlite follows ray by ray, is a mesh
there. Before anything is timed, both must show the same things at the same depths.

CRUCIBLE_MODERNGL names an interpreter with moderngl and numpy (`pip install moderngl numpy` there),
unless moderngl can be imported here. Mesa is Debian's `libegl1 libegl-mesa0 libgl1-mesa-dri`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.carlite import towns
from harness.carlite.arrays import Bools, Floats
from harness.carlite.sensors.camera import ColourCamera
from harness.carlite.sensors.frames import build_rotation_matrix
from harness.carlite.sensors.materials import FACADE, LINEAR_PALETTE, list_face_materials
from harness.carlite.sensors.picture import PinholeCamera
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.rasterise import NOTHING
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.sensors.things import round_to_wire
from harness.carlite.towns.marking_strips import build_town_strips
from tests.benchmarks.view_faces import Faces, find_agreement, list_faces, select_in_view
from tests.carlite import ray_worlds

TOWNS = ("Crucible05", "Town05")
SIZES = ((800, 600), (512, 384))
PLACES, CARS, CLEAR = 5, 60, 8.0
MOUNT = 2.0
"""Metres of the cameras above the road."""
ASIDE = 4
"""Cameras of a place: ahead, to the right, back and to the left."""
ROUNDS = 3
AGREEMENT = 0.97
NAME = "CRUCIBLE_MODERNGL"
LEAN, FULL = "Lambert, one texture", "like carlite"
RENDERED: dict[str, tuple[str, str, int]] = {
    LEAN: ("plain", "rendered", 0),
    f"{LEAN}, 4 samples": ("plain", "rendered", 4),
    FULL: ("rich", "rendered", 0),
    f"{FULL}, 4 samples": ("rich", "rendered", 4),
    f"{FULL}, with what is hidden": ("rich", "view", 0),
}
"""Look, faces and samples a pixel of what llvmpipe draws."""
CORNER = np.dtype(
    [
        ("corner", "f4", 3), ("direction", "f4", 3), ("paint", "f4", 3), ("house", "f4", 3),
        ("number", "i4"),
    ]
)  # fmt: skip


class Llvmpipe:
    """A process that draws views; `renderer` is empty if there is none, and `error` says why."""

    def __init__(self, python: str, file: Path) -> None:
        self._process = subprocess.Popen(
            [python, str(Path(__file__).with_name("mesa_views.py")), str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={
                **os.environ, "LP_NUM_THREADS": "1", "GALLIUM_DRIVER": "llvmpipe",
                "LIBGL_ALWAYS_SOFTWARE": "1", "OPENBLAS_NUM_THREADS": "1",
            },
        )  # fmt: skip
        hello = self._read_answer()
        self.renderer = str(hello.get("renderer", ""))
        self.error = str(hello.get("error", ""))
        if self.renderer and "llvmpipe" not in self.renderer:
            self.renderer, self.error = "", f"OpenGL draws with {self.renderer}"

    def render(
        self, views: list[int], size: tuple[int, int], *, look: str, faces: str, samples: int
    ) -> list[float]:
        """Draw views; return the processor seconds of each."""
        request = {"views": views, "size": size, "look": look, "faces": faces, "samples": samples}
        return [float(took) for took in self._ask(request)["seconds"]]

    def save(self, view: int, size: tuple[int, int], look: str, file: Path) -> Any:
        """Return the pixels of a view, top row first."""
        request = {"views": [view], "size": size, "look": look, "faces": "rendered", "samples": 0}
        self._ask({**request, "file": str(file)})
        return np.load(file)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._read_answer()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def _read_answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the process has ended"}
        return answer


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A town's scene, and the poses of its cameras, place by place.

    Attributes:
        views: the faces that each camera may see.
        rendered: which of them are ground, or of things of which carlite draws a face.
    """

    scene: SensorScene
    poses: list[SensorPose]
    views: list[Faces]
    rendered: list[Bools]

    def write(self, file: Path) -> None:
        """Write the views for llvmpipe."""
        light, relief = self.scene.find_light().daylight, self.scene.relief
        arrays: dict[str, Any] = {}
        for number, (pose, faces) in enumerate(zip(self.poses, self.views, strict=True)):
            arrays[f"corners_{number}"] = list_corners(self.scene, faces, place_camera(pose)[0])
            arrays[f"view_{number}"] = list_triangles(faces)
            arrays[f"rendered_{number}"] = list_triangles(faces, self.rendered[number])
        np.savez(
            file, **arrays,
            origins=np.array([place_camera(pose)[0] for pose in self.poses]),
            rotations=np.array([place_camera(pose)[1] for pose in self.poses]),
            edges=np.array(find_edges()),
            ground=LINEAR_PALETTE[relief.labels],
            grid=np.array([relief.x, relief.y, relief.cell]),
            key=light.key, sun=light.key_colour, ambient=light.ambient, fog=light.fog,
            zenith=np.array([0.10, 0.27, 0.60]),
        )  # fmt: skip


def prepare_views(name: str) -> tuple[SensorScene, list[SensorPose]]:
    """Return a town with parked cars, and cameras at places of its roads that no car is on.

    The cameras of a place follow one another.
    """
    town = towns.load_town(name, None)
    table = ray_worlds.parked(town, CARS)
    points = town.spawn_points
    away = np.linalg.norm(points[:, None, :2] - table.position[None, :, :2], axis=2).min(axis=1)
    points = points[away > CLEAR]
    poses = [
        SensorPose((x, y, z + MOUNT), (pitch, yaw + turn * 2 * np.pi / ASIDE, 0.0))
        for x, y, z, pitch, yaw, _ in points[:: len(points) // PLACES][:PLACES].tolist()
        for turn in range(ASIDE)
    ]
    scene = SensorScene(town, table, None, build_town_strips)
    scene.refresh_actors(1)
    return scene, poses


def prepare_stage(name: str) -> Stage:
    """Return the views of a town, and what is drawn of each."""
    scene, poses = prepare_views(name)
    faces = list_faces(scene)
    edges = find_edges()
    views = [select_in_view(faces, *place_camera(pose), edges) for pose in poses]
    rendered = [find_rendered(scene, view, pose) for view, pose in zip(views, poses, strict=True)]
    return Stage(scene=scene, poses=poses, views=views, rendered=rendered)


def find_rendered(scene: SensorScene, faces: Faces, pose: SensorPose) -> Bools:
    """Return which faces are ground, or of things of which carlite draws a face from there."""
    picture = PinholeCamera(list_attributes(SIZES[0])).render_picture(scene, pose, 1)
    return (faces.thing < 0) | np.isin(faces.thing, picture.things)


def place_camera(pose: SensorPose) -> tuple[Floats, Floats]:
    """Return where a camera is and its axes, as `render_picture` has them."""
    origin, angles = round_to_wire(np.array(pose.position), np.array(pose.rotation))
    return origin, build_rotation_matrix(*angles.tolist())


def list_attributes(size: tuple[int, int]) -> dict[str, str]:
    """Return the attributes of a camera."""
    return {"image_size_x": str(size[0]), "image_size_y": str(size[1]), "fov": "90"}


def find_edges() -> tuple[float, float]:
    """Return the tangents of the angles to the edges; all pictures are four to three."""
    return PinholeCamera(list_attributes(SIZES[0])).edges


def list_corners(scene: SensorScene, faces: Faces, origin: Floats) -> np.ndarray:
    """Return the corners of faces, four for each, about a camera at `origin`."""
    corners = np.zeros((len(faces.four), 4), CORNER)
    corners["corner"] = faces.corners - origin
    corners["direction"] = faces.normal[:, None]
    corners["paint"] = LINEAR_PALETTE[faces.label][:, None]
    corners["number"] = faces.thing[:, None]
    # the colours of houses and cars, and where a facade begins and how tall it is
    which = np.flatnonzero(faces.thing >= 0)
    normal, thing = faces.normal[which], faces.thing[which]
    materials = list_face_materials(
        normal, faces.label[which], thing, scene.shown, rotation=np.eye(3), key=np.zeros(3)
    )
    corners["paint"][which] = materials.colour[:, None]
    middle = np.einsum("fi,fi->f", scene.shown.centre[thing, :2], materials.tangent)
    house = np.column_stack([-middle, materials.base, materials.tall])
    corners["house"][which] = np.where(materials.kind == FACADE, house.T, 0.0).T[:, None]
    return corners.ravel()


def list_triangles(faces: Faces, which: Bools | None = None) -> np.ndarray:
    """Return the corners of the triangles of faces, (triangles, 3), in the faces' order."""
    corners = np.arange(4 * len(faces.four), dtype=np.int32).reshape(-1, 4)
    both = corners[:, [[0, 1, 2], [0, 2, 3]]]
    which = np.ones_like(faces.four) if which is None else which
    keep = np.stack([which, which & faces.four], axis=1)
    return both[keep]


def compare_surfaces(stage: Stage, peer: Llvmpipe, folder: Path) -> float:
    """Return the least share, over all views, of pixels in which both show the same."""
    camera, least = PinholeCamera(list_attributes(SIZES[1])), 1.0
    for number, pose in enumerate(stage.poses):
        depth, thing = find_surfaces(camera, stage.scene, pose)
        rendered = peer.save(number, SIZES[1], "surfaces", folder / "surfaces.npy")
        least = min(
            least, find_agreement(depth, thing, rendered[..., 1], np.rint(rendered[..., 0]))
        )
    return least


def find_surfaces(
    camera: PinholeCamera, scene: SensorScene, pose: SensorPose
) -> tuple[Floats, np.ndarray]:
    """Return the depth and the thing of each pixel of a picture of carlite, top row first."""
    picture = camera.render_picture(scene, pose, 1)
    depth = picture.fan.cosine[:, None] / picture.nearness
    # GROUND and NOTHING stay as they are
    numbers = np.append(picture.things, [NOTHING, -1])
    return depth.T[::-1], numbers[picture.source].T[::-1]


def measure_carlite(stage: Stage, size: tuple[int, int]) -> dict[str, list[float]]:
    """Return the processor seconds of each view: drawing alone, and a picture in colour."""
    colour, pinhole = (
        ColourCamera(list_attributes(size), 0, 1),
        PinholeCamera(list_attributes(size)),
    )
    seconds: dict[str, list[float]] = {"casting": [], "picture": []}
    for pose in stage.poses:
        start = time.process_time()
        pinhole.render_picture(stage.scene, pose, 1)
        between = time.process_time()
        colour.make_image(stage.scene, pose, 1)
        seconds["casting"].append(between - start)
        seconds["picture"].append(time.process_time() - between)
    return seconds


def compare_size(stage: Stage, peer: Llvmpipe | None, size: tuple[int, int]) -> dict[str, Floats]:
    """Take the rounds in turn; return the least seconds of each view, (places, cameras)."""
    rounds: dict[str, list[list[float]]] = {}
    for _ in range(ROUNDS + 1):
        for name, seconds in measure_carlite(stage, size).items():
            rounds.setdefault(name, []).append(seconds)
        for name, (look, faces, samples) in RENDERED.items() if peer else ():
            assert peer
            views = list(range(len(stage.poses)))
            seconds = peer.render(views, size, look=look, faces=faces, samples=samples)
            rounds.setdefault(name, []).append(seconds)
    # the first round is for warmth
    return {name: np.min(values[1:], axis=0).reshape(-1, ASIDE) for name, values in rounds.items()}


def measure_town(name: str, python: str | None, folder: Path) -> tuple[list[tuple[str, str]], str]:
    """Measure one town; also returns why there is no llvmpipe, or an empty text."""
    stage = prepare_stage(name)
    counts = [len(list_triangles(*of)) for of in zip(stage.views, stage.rendered, strict=True)]
    whole = [view.count_triangles() for view in stage.views]
    rows = [
        (f"{name}: triangles of a view, mean and most", f"{np.mean(counts):.0f} and {max(counts)}"),
        (f"{name}: the same with what is hidden", f"{np.mean(whole):.0f} and {max(whole)}"),
    ]
    peer, error = start_peer(stage, python, folder)
    if peer:
        agreement = compare_surfaces(stage, peer, folder)
        if agreement < AGREEMENT:
            raise RuntimeError(f"{name}: {100 * agreement:.1f} % of pixels show the same")
        rows.append((f"{name}: pixels that show the same, least", f"{100 * agreement:.2f} %"))
    for size in SIZES:
        best = compare_size(stage, peer, size)
        title = f"{name}, {size[0]} by {size[1]}"
        rows += format_times(f"{title}, one camera", {n: t[:, 0].mean() for n, t in best.items()})
        rows += format_times(
            f"{title}, four cameras", {n: t.sum(axis=1).mean() for n, t in best.items()}
        )
    if peer:
        rows.append((f"{name}: rendered with", peer.renderer))
        peer.end()
    return rows, error


def start_peer(stage: Stage, python: str | None, folder: Path) -> tuple[Llvmpipe | None, str]:
    """Return a process that draws the views, or None and why there is none."""
    if not python:
        return None, f"{NAME} names no interpreter with moderngl"
    stage.write(folder / "views.npz")
    try:
        peer = Llvmpipe(python, folder / "views.npz")
    except OSError as error:
        return None, f"{NAME}: {error}"
    if peer.renderer:
        return peer, ""
    peer.end()
    return None, peer.error


def format_times(title: str, seconds: dict[str, float]) -> list[tuple[str, str]]:
    """Return rows: carlite's times, and llvmpipe's with their ratios to carlite's two."""
    cast, whole = 1e3 * seconds["casting"], 1e3 * seconds["picture"]
    rows = [(f"{title}: carlite, casting and whole", f"{cast:.1f} and {whole:.1f} ms")]
    for rendered in RENDERED:
        if rendered in seconds:
            took = 1e3 * seconds[rendered]
            ratios = f"{took / cast:.2f} and {took / whole:.2f} times as long"
            rows.append((f"{title}: llvmpipe, {rendered}", f"{took:.1f} ms, {ratios}"))
    return rows


def find_interpreter() -> str | None:
    """Return an interpreter that has moderngl, if one is known."""
    here = sys.executable if importlib.util.find_spec("moderngl") else None
    return os.environ.get(NAME) or here


def run() -> list[tuple[str, str]]:
    """Measure all towns."""
    rows: list[tuple[str, str]] = []
    error = ""
    with tempfile.TemporaryDirectory() as folder:
        for name in TOWNS:
            more, error = measure_town(name, find_interpreter(), Path(folder))
            rows += more
    return [*rows, ("llvmpipe", f"not compared: {error}")] if error else rows
