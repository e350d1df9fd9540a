"""Draw views with Mesa's llvmpipe on request; `bench_llvmpipe` starts it.

It runs in an interpreter that has moderngl and numpy and need not have Crucible. Each line is a
request in JSON, and so is each answer. A view is faces before a camera; its buffers are filled
beforehand. Timed is: clear, draw, and read the pixels.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

NEAREST, FARTHEST = 0.1, 1000.0
SHADOW_SIDE, SHADOW_REACH = 2048, 100.0
HAZE = 0.0008

VERTEX = """
#version 330
uniform mat4 camera;
in vec3 corner;
in vec3 direction;
in vec3 paint;
in vec3 house;
in int number;
out vec3 place;
flat out vec3 normal;
flat out vec3 colour;
flat out vec3 facade;
flat out int thing;
void main() {
    place = corner;
    normal = direction;
    colour = paint;
    facade = house;
    thing = number;
    gl_Position = camera * vec4(corner, 1.0);
}
"""
HEAD = """
#version 330
in vec3 place;
flat in vec3 normal;
flat in vec3 colour;
flat in vec3 facade;
flat in int thing;
uniform vec3 origin, ahead, key, sun, ambient, fog, zenith;
out vec4 pixel;
uint mix_cell(ivec2 cell) {
    uint mixed = uint(cell.x) * 1597334677u ^ uint(cell.y) * 3812015801u;
    return (mixed ^ (mixed >> 15)) * 2246822519u;
}
float grain(vec2 at) {
    return float(mix_cell(ivec2(floor(at))) >> 24) / 255.0;
}
vec2 spread(vec3 world) {
    return abs(normal.z) > 0.5 ? world.xy : vec2(world.x + world.y, world.z);
}
"""
# Lambert's law and one texture that is computed
PLAIN = (
    HEAD
    + """
void main() {
    vec3 light = ambient + sun * max(dot(normal, key), 0.0);
    float shade = 0.87 + 0.26 * grain(2.3 * spread(place + origin));
    pixel = vec4(sqrt(shade * colour * light), 1.0);
}
"""
)
# what all surfaces have in the second look: shadows, light of the sky, haze
LIGHT = (
    HEAD
    + """
uniform mat4 to_light;
uniform sampler2DShadow shadows;
uniform float haze;
vec3 see(vec3 plain, float mirror) {
    float facing = max(dot(normal, key), 0.0);
    facing *= texture(shadows, (to_light * vec4(place + 0.12 * normal, 1.0)).xyz);
    vec3 seen = plain * (ambient * (0.72 + 0.28 * normal.z) + sun * facing);
    float far = length(place);
    // Schlick's approximation for a wall's pane, which mirrors the sky
    float grazing = 1.0 - abs(dot(place, normal)) / far;
    float square = grazing * grazing;
    vec3 sky = mix(fog, zenith, sqrt(max(abs(place.z) / far, 0.35)));
    seen = mix(seen, sky, mirror * (0.05 + 0.5 * square * square * grazing));
    return sqrt(mix(fog, seen, exp(-haze * far)));
}
"""
)
THINGS = (
    LIGHT
    + """
void main() {
    pixel = vec4(see(colour * (0.8 + 0.4 * grain(9.0 * spread(place + origin))), 0.0), 1.0);
}
"""
)
# windows with frames, a door here and there, the wall's grain
FACADES = (
    LIGHT
    + """
void main() {
    float wide = 2.4 + 0.3 * float(thing % 5), storey = 3.0 + 0.2 * float(thing % 3);
    float along = dot(place.xy + origin.xy, vec2(-normal.y, normal.x)) + facade.x + 512.0 * wide;
    float height = place.z + origin.z - facade.y;
    vec2 at = vec2(along / wide, height / storey), cell = floor(at), part = at - cell;
    bool built = cell.y < floor((facade.z + 0.2) / storey);
    uint number = mix_cell(ivec2(cell) + ivec2(0, 64 * thing));
    bool door = cell.y == 0.0 && number % 7u == 0u;
    vec2 aside = abs(part - vec2(0.5, 0.55));
    bool frame = built && !door && aside.x < 0.28 && aside.y < 0.27;
    bool glass = frame && aside.x < 0.24 && aside.y < 0.23 && aside.x > 0.02;
    float blur = clamp(length(place) * 0.0025 - 0.15, 0.0, 1.0);
    vec3 plain = colour * (0.86 + 0.28 * grain(11.0 * vec2(along, height)) - 0.3 * blur);
    if (glass) {
        plain = mix(vec3(0.020, 0.026, 0.034), colour, 0.6 * blur);
    } else if (frame) {
        plain = mix(vec3(0.55, 0.55, 0.53), colour, 0.8 * blur);
    } else if (built && door && aside.x < 0.2 && part.y < 0.72) {
        plain = vec3(0.10, 0.06, 0.04);
    }
    pixel = vec4(see(plain, glass ? 0.8 * (1.0 - blur) : 0.0), 1.0);
}
"""
)
# the colours of the labels about a place, and grain of two sizes
GROUND = (
    LIGHT
    + """
uniform sampler2D ground;
uniform vec3 grid;
void main() {
    vec2 world = place.xy + origin.xy;
    vec2 at = (world - grid.xy) / grid.z;
    vec3 plain = texture(ground, (at + 0.5) / vec2(textureSize(ground, 0))).rgb;
    float near = max(1.0 - length(place) / 24.0, 0.0);
    float rough = grain(2.3 * world) - 0.5 + near * (grain(47.0 * world) - 0.5);
    pixel = vec4(see(plain * (1.0 + 0.26 * rough), 0.0), 1.0);
}
"""
)
# which thing, and how far away along the camera's axis
SURFACES = (
    HEAD
    + """
void main() {
    pixel = vec4(float(thing), dot(place, ahead), 0.0, 1.0);
}
"""
)
SKY_VERTEX = """
#version 330
uniform mat3 rays;
out vec3 ray;
void main() {
    vec2 at = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
    ray = rays * vec3(at, 1.0);
    gl_Position = vec4(at, 1.0, 1.0);
}
"""
SKY = """
#version 330
in vec3 ray;
uniform vec3 fog, zenith;
out vec4 pixel;
void main() {
    float up = sqrt(max(normalize(ray).z, 0.0));
    pixel = vec4(sqrt(mix(fog, zenith, up)), 1.0);
}
"""
NO_PIXELS = """
#version 330
void main() {}
"""
LOOKS = {
    "surfaces": {"all": SURFACES},
    "plain": {"all": PLAIN},
    "rich": {"things": THINGS, "facades": FACADES, "ground": GROUND},
    "shadows": {"casting": NO_PIXELS},
}
"""Programs of a look, by the faces that they draw, in this order."""
FORM = {
    "corner": (3, "f"), "direction": (3, "f"), "paint": (3, "f"), "house": (3, "f"),
    "number": (1, "i"),
}  # fmt: skip
"""How many numbers a corner has of each sort, four bytes each, and what kind they are of."""


class Painter:
    """An OpenGL context with the views of a file."""

    def __init__(self, gl: Any, file: Path) -> None:
        self._gl = gl
        self._context = gl.create_context(standalone=True, backend="egl")
        self.renderer = str(self._context.info["GL_RENDERER"])
        with np.load(file) as stored:
            self._arrays = dict(stored)
        context = self._context
        context.gc_mode = "auto"
        self._programs = {
            (look, part): context.program(vertex_shader=VERTEX, fragment_shader=fragment)
            for look, parts in LOOKS.items()
            for part, fragment in parts.items()
        }
        self._sky = context.program(vertex_shader=SKY_VERTEX, fragment_shader=SKY)
        self._whole = context.vertex_array(self._sky, [])
        self._shadows = context.depth_texture((SHADOW_SIDE, SHADOW_SIDE))
        self._shadows.compare_func = "<="
        self._shadow_frame = context.framebuffer(depth_attachment=self._shadows)
        colours = np.ascontiguousarray(self._arrays["ground"])
        self._ground = context.texture(colours.shape[1::-1], 3, colours.tobytes(), dtype="f4")
        self._ground.filter = gl.LINEAR, gl.LINEAR
        self._buffers = cache(self._make_buffers)
        self._target = cache(self._make_target)

    def _make_buffers(self, view: int, faces: str) -> tuple[Any, dict[str, Any]]:
        """Return a view's corners, and the corners of the triangles of each kind of face."""
        context, triangles = self._context, self._arrays[f"{faces}_{view}"]
        of_thing = self._arrays[f"corners_{view}"]["number"][triangles[:, 0]] >= 0
        of_facade = self._arrays[f"corners_{view}"]["house"][triangles[:, 0], 2] > 0
        kinds = {
            "all": np.ones_like(of_thing), "things": of_thing & ~of_facade, "facades": of_facade,
            "ground": ~of_thing, "casting": of_thing,
        }  # fmt: skip
        return context.buffer(self._arrays[f"corners_{view}"].tobytes()), {
            kind: context.buffer(triangles[which].tobytes())
            for kind, which in kinds.items()
            if which.any()
        }

    def _make_target(self, width: int, height: int, samples: int, kind: str) -> Any:
        context = self._context
        return context.framebuffer(
            [context.renderbuffer((width, height), 4, samples=samples, dtype=kind)],
            context.depth_renderbuffer((width, height), samples=samples),
        )

    def render(
        self, view: int, look: str, faces: str, size: tuple[int, int], samples: int
    ) -> tuple[float, np.ndarray]:
        """Draw a view; return the processor seconds, and the pixels, bottom row first."""
        gl, context, (width, height) = self._gl, self._context, size
        rotation, edges = self._arrays["rotations"][view], self._arrays["edges"]
        values: dict[str, Any] = {
            name: self._arrays[name] for name in ("key", "sun", "ambient", "fog", "zenith", "grid")
        }
        values |= {"camera": build_camera(rotation, edges).T, "ahead": rotation[:, 0]}
        values |= {"origin": self._arrays["origins"][view], "haze": HAZE}
        if look == "rich":
            values |= {"to_light": self._render_shadows(view).T, "shadows": 0, "ground": 1}
        kind = "f4" if look == "surfaces" else "f1"
        frame = self._target(width, height, samples, kind)
        plain = self._target(width, height, 0, kind)
        parts = self._list_parts(view, look, faces)
        pixels = np.empty((height, width, 4), np.float32 if kind == "f4" else np.uint8)
        context.finish()
        start = time.process_time()
        frame.use()
        context.viewport = (0, 0, width, height)
        context.enable_only(gl.DEPTH_TEST | gl.CULL_FACE)
        context.front_face = "cw"
        frame.clear(-2.0 if look == "surfaces" else 0.5, 0.5, 0.5, 1.0)
        self._shadows.use(0)
        self._ground.use(1)
        for program, array in parts:
            set_uniforms(program, values)
            array.render()
        if look == "rich":
            self._render_sky(rotation, edges)
        if samples:
            context.copy_framebuffer(plain, frame)
        plain.read_into(pixels, components=4, dtype=kind, alignment=1)
        return time.process_time() - start, pixels

    def _list_parts(self, view: int, look: str, faces: str) -> list[tuple[Any, Any]]:
        """Return the programs of a look, and for each the faces that it draws."""
        corners, triangles = self._buffers(view, faces)
        parts = []
        for part in LOOKS[look]:
            if part in triangles:
                program = self._programs[look, part]
                # names that a program does without are padding
                used = [name for name in FORM if name in program]
                form = [
                    f"{count}{kind if name in used else 'x4'}"
                    for name, (count, kind) in FORM.items()
                ]
                content = [(corners, " ".join(form), *used)]
                array = self._context.vertex_array(program, content, index_buffer=triangles[part])
                parts.append((program, array))
        return parts

    def _render_shadows(self, view: int) -> np.ndarray:
        """Draw the map of what the sun sees; return the matrix from places to it."""
        gl, context = self._gl, self._context
        key = self._arrays["key"]
        across = np.cross(key, [0.0, 1.0, 0.0])
        across /= np.linalg.norm(across)
        light = np.eye(4)
        light[:3, :3] = np.stack([across, np.cross(key, across), -key]) / SHADOW_REACH
        self._shadow_frame.use()
        context.viewport = (0, 0, SHADOW_SIDE, SHADOW_SIDE)
        context.enable_only(gl.DEPTH_TEST)
        self._shadow_frame.clear(depth=1.0)
        for program, array in self._list_parts(view, "shadows", "view"):
            set_uniforms(program, {"camera": light.T})
            array.render()
        # from -1 to 1 to from 0 to 1
        half = np.diag([0.5, 0.5, 0.5, 1.0])
        half[:3, 3] = 0.5
        return np.asarray(half @ light)

    def _render_sky(self, rotation: np.ndarray, edges: np.ndarray) -> None:
        context = self._context
        context.depth_func = "<="
        rays = np.stack([rotation[:, 1] * edges[0], rotation[:, 2] * edges[1], rotation[:, 0]], 1)
        fog, zenith = self._arrays["fog"], self._arrays["zenith"]
        set_uniforms(self._sky, {"rays": rays.T, "fog": fog, "zenith": zenith})
        context.disable(self._gl.CULL_FACE)
        self._whole.render(vertices=3)
        context.depth_func = "<"


def build_camera(rotation: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the matrix from places about the camera to OpenGL's clip space, (4, 4).

    Args:
        rotation: (3, 3) columns are the camera's axes: ahead, right and up.
        edges: tangents of the angles from the middle to the right and the upper edge.
    """
    matrix = np.zeros((4, 4))
    matrix[0, :3] = rotation[:, 1] / edges[0]
    matrix[1, :3] = rotation[:, 2] / edges[1]
    matrix[2, :3] = rotation[:, 0] * (FARTHEST + NEAREST) / (FARTHEST - NEAREST)
    matrix[2, 3] = -2 * FARTHEST * NEAREST / (FARTHEST - NEAREST)
    matrix[3, :3] = rotation[:, 0]
    return matrix


def set_uniforms(program: Any, values: dict[str, Any]) -> None:
    """Give a program those of the values that it has a use for."""
    for name, value in values.items():
        if name in program:
            if isinstance(value, np.ndarray):
                program[name].write(np.ascontiguousarray(value, np.float32).tobytes())
            else:
                program[name].value = value


def main() -> None:
    """Answer requests until standard input ends."""
    try:
        painter = Painter(importlib.import_module("moderngl"), Path(sys.argv[1]))
    except Exception as error:  # no moderngl, no EGL, no driver: each says so in its own way
        print(json.dumps({"error": str(error).splitlines()[0] if str(error) else repr(error)}))
        return
    print(json.dumps({"renderer": painter.renderer}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        seconds = []
        for view in request["views"]:
            took, pixels = painter.render(
                view, request["look"], request["faces"], request["size"], request["samples"]
            )
            seconds.append(took)
        if "file" in request:
            np.save(request["file"], pixels[::-1])
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
