"""Shapes: the shipped file is what carlite's bodies give, and a shape fills its box."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from harness.carlite import blueprints
from harness.common.errors import UserError
from harness.types.vocabulary import CLASSES, CYCLIST, PEDESTRIAN, VEHICLE
from studies.metamorphic.geometry.shapes import (
    FILE,
    find_nearest_shape,
    find_shape_by_name,
    fit_shape_to_box,
    load_shapes,
    scale_shape,
)
from tools.authoring.shapes import NAMES, build_shape_arrays, encode_arrays, write_shapes


def test_the_shipped_file_is_what_the_bodies_give(tmp_path: Path) -> None:
    made = build_shape_arrays(NAMES)
    with np.load(FILE) as shipped:
        assert set(shipped.files) == set(made)
        for name, array in made.items():
            if array.dtype.kind == "f":  # sines may differ in the last bit
                np.testing.assert_allclose(shipped[name], array, atol=1e-6)
            else:
                np.testing.assert_array_equal(shipped[name], array)
    assert FILE.stat().st_size < 1_000_000
    write_shapes([str(tmp_path / "new" / "shapes.npz")])
    assert (tmp_path / "new" / "shapes.npz").read_bytes() == encode_arrays(
        build_shape_arrays(NAMES)
    )


def test_written_bytes_can_be_read() -> None:
    with np.load(io.BytesIO(encode_arrays(build_shape_arrays(NAMES[:2])))) as file:
        assert file["names"].tolist() == list(NAMES[:2])


@pytest.mark.parametrize("name", NAMES)
def test_a_shape_fills_its_box_and_its_normals_point_outwards(name: str) -> None:
    shape = find_shape_by_name(name)
    size = 2 * np.array(blueprints.build_blueprint_library()[name].extent)
    np.testing.assert_allclose(shape.vertices.max(axis=0), size / 2, atol=1e-6)
    np.testing.assert_allclose(shape.vertices.min(axis=0), -size / 2, atol=1e-6)
    a, b, c = shape.vertices[shape.faces].transpose(1, 0, 2)
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6
    assert 0.03 * size.prod() < volume < size.prod()
    edges: dict[tuple[int, int], int] = {}
    for face in shape.faces.tolist():
        for start, end in zip(face, [*face[1:], face[0]], strict=True):
            edges[start, end] = edges.get((start, end), 0) + 1
    assert all(edges.get((end, start)) == count for (start, end), count in edges.items())
    assert set(shape.tags.tolist()) <= {12, 13, 14, 15, 16, 18, 19}


def test_all_classes_and_large_vehicles_are_there() -> None:
    classes = [shape.of_class for shape in load_shapes().values()]
    assert set(classes) == set(range(len(CLASSES)))
    assert min(classes.count(PEDESTRIAN), classes.count(CYCLIST)) >= 2
    assert classes.count(VEHICLE) >= 12
    assert {14, 15, 16} <= {int(tag) for shape in load_shapes().values() for tag in shape.tags}


def test_the_nearest_shape_is_scaled_to_a_box() -> None:
    for shape in load_shapes().values():
        assert find_nearest_shape(shape.of_class, shape.size).size == pytest.approx(shape.size)
    size = np.array([4.4, 1.7, 1.6])
    assert fit_shape_to_box(VEHICLE, size).size == pytest.approx(size)
    assert fit_shape_to_box(CYCLIST, size).of_class == CYCLIST
    tall = scale_shape(find_shape_by_name(NAMES[0]), (1.0, 1.0, 1.1))
    assert tall.size[2] == pytest.approx(1.1 * find_shape_by_name(NAMES[0]).size[2])


def test_an_unknown_shape_is_refused() -> None:
    with pytest.raises(UserError, match=r"vehicle\.tesla\.model4"):
        find_shape_by_name("vehicle.tesla.model4")
