"""Recorded sweeps next to carlite's: the pattern is measured, and a wrong one shows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.carlite.arrays import Floats
from tools.fidelity import __main__ as command
from tools.fidelity.sweeps import fit_ground, measure_pattern, read_sweep, simulate_sweep

CHANNELS, FIRINGS, TURN, HEIGHT, RANGE = 32, 150, 5.12, 1.9, 50.0
ELEVATION = np.linspace(10.0, -30.0, CHANNELS)


def make_sweep(elevation: Floats = ELEVATION) -> Floats:
    """Return what lasers over flat ground hit, from the uppermost one down, z downward."""
    azimuth = np.radians(TURN * np.arange(FIRINGS))
    rows = []
    for angle in np.radians(elevation[elevation < -3.0]):
        flat = HEIGHT / np.tan(-angle)
        x, y = flat * np.cos(azimuth), flat * np.sin(azimuth)
        rows.append(np.column_stack([x, y, np.full(FIRINGS, HEIGHT)]))
    return np.concatenate(rows)


def write_ply(path: Path, points: Floats) -> Path:
    axes = "".join(f"property float32 {axis}\n" for axis in "xyz")
    body = "\n".join(" ".join(f"{value:.6f}" for value in point) for point in points)
    head = f"ply\nformat ascii 1.0\nelement vertex {len(points)}\n{axes}end_header\n"
    path.write_text(head + body)
    return path


def test_the_pattern_of_a_sweep_is_measured(tmp_path: Path) -> None:
    points = read_sweep(write_ply(tmp_path / "sweep.ply", make_sweep()), downward=True)
    pattern = measure_pattern(points)
    assert pattern.elevation == pytest.approx(ELEVATION[ELEVATION < -3.0][::-1], abs=1e-4)
    assert pattern.step == pytest.approx(40.0 / (CHANNELS - 1), abs=1e-4)
    assert set(pattern.returns.tolist()) == {FIRINGS}
    assert pattern.turn == pytest.approx(TURN, abs=1e-4)
    assert pattern.uneven_turn < 1e-3
    assert pattern.top_first
    assert fit_ground(points, 1.3) == pytest.approx((HEIGHT, 0.0), abs=1e-5)


def test_carlite_s_sweep_of_the_same_pattern_is_the_same() -> None:
    points = make_sweep() * np.array([1.0, 1.0, -1.0])
    pattern = measure_pattern(points)
    ours = simulate_sweep(pattern, HEIGHT)
    assert len(ours) == len(points)
    np.testing.assert_allclose(ours[:, 2], -HEIGHT, atol=1e-4)
    flat = np.hypot(points[:, 0], points[:, 1])
    np.testing.assert_allclose(np.hypot(ours[:, 0], ours[:, 1]), flat, rtol=1e-4)
    assert measure_pattern(ours).turn == pytest.approx(TURN, abs=1e-3)


def test_uneven_channels_show() -> None:
    bent = ELEVATION.copy()
    bent[-5] += 0.3
    assert measure_pattern(make_sweep(bent) * np.array([1.0, 1.0, -1.0])).uneven > 0.2


def test_it_is_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "sweep.npy", make_sweep().T)
    assert command.run_fidelity_command(["lidar", str(tmp_path / "sweep.npy")]) == 0
    printed = capsys.readouterr().out
    assert "channels differ by, deg" in printed
    assert f"{HEIGHT:.3f} | {HEIGHT:.3f}" in printed


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"ply\nformat binary_little_endian 1.0\nend_header\n", "no ASCII PLY"),
        (b"ply\nformat ascii 1.0\nend_header\n1 2 x", "cannot be read"),
        (b"\xff\xfe\x00", "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_bad_sweeps_are_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, complaint: str
) -> None:
    path = tmp_path / "bad.ply"
    if content is not None:
        path.write_bytes(content)
    assert command.run_fidelity_command(["lidar", str(path)]) == 2
    printed = capsys.readouterr().err
    assert complaint in printed
    assert str(path) in printed
    assert printed.count("\n") == 1


def test_points_without_channels_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud = np.random.default_rng(1).normal(size=(5000, 3)) * 20.0
    assert command.run_fidelity_command(["lidar", str(write_ply(tmp_path / "a.ply", cloud))]) == 2
    assert "no channels" in capsys.readouterr().err
