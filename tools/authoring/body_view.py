"""`python -m tools.authoring.body_view [FILE]` draws every body into one picture."""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from harness.carlite.arrays import Floats
from harness.carlite.blueprints import build_blueprint_library as blueprints
from harness.carlite.bodies import BodyLibrary, build_body_library

_COLUMNS = 9
_AZIMUTH, _ELEVATION = np.radians(35.0), np.radians(22.0)
_TO_VIEWER = np.array([np.cos(_AZIMUTH), np.sin(_AZIMUTH), np.tan(_ELEVATION)])
_RIGHT = np.array([np.sin(_AZIMUTH), -np.cos(_AZIMUTH), 0.0])
_UP = np.array([*(-np.sin(_ELEVATION) * _TO_VIEWER[:2]), np.cos(_ELEVATION)])
_LAMP = np.array([0.30, 0.62, 0.72])
_PAINT, _RIDER = np.array([0.45, 0.62, 0.85]), np.array([0.95, 0.60, 0.30])


def render_body_sheet(path: str) -> None:
    """Draw the contact sheet."""
    bodies = build_body_library()
    sizes = {user.body: user.extent for user in reversed(blueprints().values())}
    rows = -(-len(bodies.names) // _COLUMNS)
    figure, grid = plt.subplots(rows, _COLUMNS, figsize=(1.9 * _COLUMNS, 1.8 * rows))
    for axes in grid.flat:
        axes.set_axis_off()
        axes.set_aspect("equal")
    for index, (name, axes) in enumerate(zip(bodies.names, grid.flat, strict=False)):
        _plot_body(axes, bodies, index, np.array(sizes[name]))
        axes.set_title(f"{name} ({bodies.count[index]})", fontsize=10)
    figure.tight_layout(pad=0.4)
    figure.savefig(path, dpi=72)


def _plot_body(axes: Axes, bodies: BodyLibrary, index: int, extent: Floats) -> None:
    """Draw the triangles that face the viewer, the far ones first."""
    rows = slice(bodies.first[index], bodies.first[index] + bodies.count[index])
    # (triangles, 3, 3) in m
    corners = bodies.vertices[bodies.triangles[rows]] * extent
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    # lit from one side
    light = 0.35 + 0.65 * np.clip(normal @ _LAMP, 0, 1)
    colour = np.where(bodies.label[rows, None] > 0, _RIDER, _PAINT) * light[:, None]
    # far ones first, those that face away not at all
    order = np.argsort((corners @ _TO_VIEWER).mean(axis=1))
    order = order[(normal @ _TO_VIEWER)[order] > 0]
    flat = np.stack([corners @ _RIGHT, corners @ _UP], axis=-1)[order]
    axes.add_collection(
        PolyCollection(
            list(flat), facecolors=colour[order], edgecolors=colour[order] * 0.8, linewidths=0.5
        )
    )
    axes.autoscale_view()


if __name__ == "__main__":
    render_body_sheet(sys.argv[1] if len(sys.argv) > 1 else "docs/images/bodies.png")
