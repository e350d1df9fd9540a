"""The distance of realism: small among recorded sweeps, large for sweeps that no LiDAR records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.common.randomness import make_named_stream
from studies.metamorphic.judging.realism import (
    RANGE_STATISTICS,
    compute_frechet_distance,
    corrupt_view,
    measure_range_statistics,
)
from studies.metamorphic.scenes.scene import AgentView
from studies.metamorphic.storage.packing import pack_study
from studies.metamorphic.storage.records import (
    STUDY_SCHEMAS,
    get_block_file,
    make_empty_rows,
    make_row_head,
)
from studies.metamorphic.tables.realism import build_realism_sheets
from studies.metamorphic.tables.summary import StudyTables
from tests.studies.metamorphic.made_study import write_study
from tests.studies.metamorphic.rendered import (
    CARRIER,
    TESLA,
    VAN,
    Standing,
    bare_town,
    looked,
    on_roof,
    sparse,
    world_with,
)

ONES = np.ones(3)


def test_distances_of_normal_distributions_are_known() -> None:
    """|difference of means|² + tr(A + B - 2 sqrt(AB)): for diagonal A and B, sums of squares."""
    random = np.random.default_rng(3)
    base = random.normal(size=(40_000, 3))
    assert compute_frechet_distance(base, base, ONES) == pytest.approx(0.0, abs=1e-9)
    moved = base + np.array([1.0, -2.0, 0.5])
    assert compute_frechet_distance(base, moved, ONES) == pytest.approx(5.25, abs=1e-6)
    wide = base * [2.0, 1.0, 3.0]
    assert compute_frechet_distance(base, wide, ONES) == pytest.approx(5.0, rel=0.05)
    assert compute_frechet_distance(base, moved, 2 * ONES) == pytest.approx(5.25 / 4, abs=1e-6)
    # correlated: the same set turned by a quarter, by the definition with a plain matrix root
    skew = base @ np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 1.0]])
    a, b = np.cov(skew, rowvar=False), np.cov(wide, rowvar=False)
    values, vectors = np.linalg.eig(a @ b)
    root = vectors @ np.diag(np.sqrt(values)) @ np.linalg.inv(vectors)
    means = ((skew.mean(axis=0) - wide.mean(axis=0)) ** 2).sum()
    expected = means + np.trace(a + b - 2 * root)
    assert compute_frechet_distance(skew, wide, ONES) == pytest.approx(float(expected), rel=1e-6)


def test_few_sweeps_have_no_distance() -> None:
    few = np.zeros((5, 3))
    assert np.isnan(compute_frechet_distance(few, np.zeros((90, 3)), ONES))


def views_of(seed: int, count: int) -> list[AgentView]:
    """Return sweeps of one car along the road, with others at random places."""
    random, views = np.random.default_rng(seed), []
    for _ in range(count):
        x = float(random.uniform(-60, 60))
        users = {7: Standing(CARRIER, x, -2.0, 0.0)}
        for number, name in enumerate((TESLA, VAN, TESLA)):
            away = float(random.uniform(8, 30)) * (-1) ** number
            users[20 + number] = Standing(name, x + away, 2.5, 0.0)
        views.append(looked(world_with(bare_town(120), users), users, 7, on_roof(users[7])))
    return views


@pytest.mark.thorough
def test_recorded_sweeps_are_near_and_corrupted_ones_far() -> None:
    one, other = views_of(1, 24), views_of(2, 24)
    stream = make_named_stream(1, "corrupted")
    sets = [one, other, [corrupt_view(view, stream) for view in one]]
    first, second, spoilt = (
        np.array([measure_range_statistics(view) for view in views]) for views in sets
    )
    scale = np.maximum(first.std(axis=0), 0.002)
    among = compute_frechet_distance(first, second, scale)
    assert among < 12
    assert compute_frechet_distance(first, spoilt, scale) > 20 * among
    assert compute_frechet_distance(second, spoilt, scale) > 20 * among


def test_statistics_see_what_they_are_named_for() -> None:
    view = sparse().ego
    before = dict(zip(RANGE_STATISTICS, measure_range_statistics(view), strict=True))

    def changed(points: np.ndarray) -> dict[str, float]:
        other = replace(view, points_in_lidar=points.astype(np.float32), surfaces=None)
        return dict(zip(RANGE_STATISTICS, measure_range_statistics(other).tolist(), strict=True))

    fewer = changed(view.points_in_lidar[::2])
    assert fewer["returns"] == pytest.approx(before["returns"] / 2, rel=0.01)
    assert fewer["holes"] > before["holes"] + 0.1
    far = changed(view.points_in_lidar * [2, 2, 2, 1])
    assert far["log_range"] == pytest.approx(before["log_range"] + np.log(2), abs=1e-4)
    assert far["along"] == pytest.approx(before["along"], abs=1e-5)
    assert far["intensity"] > before["intensity"] + 0.02
    rough = changed(corrupt_view(view, np.random.default_rng(2)).points_in_lidar)
    assert rough["roughness"] > before["roughness"] + 0.01


def test_studies_from_before_have_no_table_of_realism(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", seed=1)
    rows = make_empty_rows()
    for number, scene in enumerate(f"s{cluster:02}/7/000000" for cluster in range(44)):
        for operator, extra in (("none", 0.0), ("rain", 0.0), ("corrupted", 9.0)):
            values = dict.fromkeys(RANGE_STATISTICS, extra + 0.01 * (number * 7 % 11))
            rows["sweeps"].append({**make_row_head(scene, scene[:3], "", operator), **values})
    file = get_block_file(folder, "sweeps", 0)
    pq.write_table(pa.Table.from_pylist(rows["sweeps"], STUDY_SCHEMAS["sweeps"]), file)
    # with sweeps: recorded, rain, and the control, which is far from all; packed, the same
    (sheet,) = build_realism_sheets(StudyTables(folder))
    pack_study(folder, tmp_path / "packed.parquet")
    assert build_realism_sheets(StudyTables(tmp_path / "packed.parquet")) == [sheet]
    assert [row[0] for row in sheet.rows] == ["none", "rain", "corrupted"]
    assert sheet.rows[0][2] == "-"
    assert float(sheet.rows[1][2]) == pytest.approx(0.0, abs=1e-6)
    assert float(sheet.rows[2][2]) > 100
    assert "not FRD" in sheet.title
    # a study from before sweeps were recorded is read as ever
    file.unlink()
    assert build_realism_sheets(StudyTables(folder)) == []
    assert len(StudyTables(folder).measures)
