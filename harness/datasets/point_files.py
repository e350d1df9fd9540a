"""Sweeps as `.pcd` files of the Point Cloud Library, version 0.7.

OpenCOOD reads them with Open3D, which drops intensities: the red of the colour `rgb` stands for
it, in 256 steps. What is written has `rgb` for Open3D, and `intensity` in full.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np

from harness.common.safe_reading import FileKind, read_within
from harness.types.vocabulary import Singles

POINT_CLOUD = FileKind("a point cloud", 64_000_000)
"""`.pcd` of a sweep: 20 bytes a point, 60,000 points; as text three times that."""
LONGEST_HEADER = 4096
"""Bytes of a `.pcd` file's header."""
MOST_POINTS = 4_000_000
"""Of a sweep."""
WRITTEN = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("rgb", "<u4"), ("intensity", "<f4")])
LETTERS = {("F", 4): "<f4", ("F", 8): "<f8", ("U", 1): "u1", ("U", 2): "<u2", ("U", 4): "<u4",
           ("I", 1): "i1", ("I", 2): "<i2", ("I", 4): "<i4"}  # fmt: skip


def pack_point_cloud(points_in_lidar: Singles) -> bytes:
    """Return a sweep as a binary `.pcd` file.

    Args:
        points_in_lidar: (N, 4) x y z in metres, intensity 0 to 1.
    """
    rows = np.zeros(len(points_in_lidar), WRITTEN)
    for number, name in enumerate("xyz"):
        rows[name] = points_in_lidar[:, number]
    rows["intensity"] = points_in_lidar[:, 3]
    # red is the third byte; the other colours are 0
    red = np.rint(points_in_lidar[:, 3].clip(0.0, 1.0) * 255).astype(np.uint32)
    rows["rgb"] = red << 16
    header = (
        "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\n"
        "FIELDS x y z rgb intensity\nSIZE 4 4 4 4 4\nTYPE F F F F F\nCOUNT 1 1 1 1 1\n"
        f"WIDTH {len(rows)}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {len(rows)}\nDATA binary\n"
    )
    return header.encode() + rows.tobytes()


def read_point_cloud(file: Path, *, within: Path | None = None) -> Singles:
    """Return the sweep of a `.pcd` file, binary or as text.

    Args:
        file: what is read.
        within: the folder that the user named, as in `open_regular`.

    Returns:
        (N, 4) x y z in metres, intensity 0 to 1: that of the file, or the red of its colours.

    Raises:
        ValueError: not such a file, or in a way that is not read.
    """
    content = read_within(file, POINT_CLOUD, within=within)
    header, after = parse_point_header(content[:LONGEST_HEADER])
    fields = header["FIELDS"]
    if (set(header["COUNT"]) if "COUNT" in header else {"1"}) != {"1"}:
        raise ValueError("fields of several numbers each")
    if missing := [name for name in "xyz" if name not in fields]:
        raise ValueError(f"no field {missing[0]}; fields: {' '.join(fields)}")
    points = int(header["POINTS"][0])
    if not 0 <= points <= MOST_POINTS:
        raise ValueError(f"{points:,} points; {MOST_POINTS:,} are the most")
    kinds = [LETTERS[kind, int(size)] for kind, size in _pair_types(header)]
    rows = np.zeros(points, np.dtype(list(zip(fields, kinds, strict=True))))
    if header["DATA"] == ["binary"]:
        body = content[after : after + rows.nbytes]
        if len(body) < rows.nbytes:
            raise ValueError(f"{len(body):,} bytes of points; the header has {rows.nbytes:,}")
        rows = np.frombuffer(body, rows.dtype)
    elif header["DATA"] == ["ascii"]:
        numbers = np.loadtxt(BytesIO(content[after:]), np.float64, ndmin=2, max_rows=points + 1)
        if numbers.size and numbers.shape != (points, len(fields)):
            raise ValueError(f"{numbers.shape} numbers; the header has {points} x {len(fields)}")
        for number, name in enumerate(fields):
            rows[name] = numbers[:, number] if numbers.size else 0
    else:
        raise ValueError(f"DATA {' '.join(header['DATA'])}: binary and ascii are read")
    xyz = np.column_stack([rows[name] for name in "xyz"]).astype(np.float32).reshape(-1, 3)
    points_in_lidar = np.column_stack([xyz, _get_intensity(rows)]).astype(np.float32)
    if not np.isfinite(points_in_lidar).all():
        raise ValueError("points that are not finite")
    return points_in_lidar


def parse_point_header(beginning: bytes) -> tuple[dict[str, list[str]], int]:
    """Return the words of each line of a `.pcd` header, and where the points begin."""
    header: dict[str, list[str]] = {}
    after = 0
    for line in beginning.split(b"\n")[:-1]:
        after += len(line) + 1
        name, *words = line.decode("ascii", "replace").split() or [""]
        if name and not name.startswith("#"):
            header[name] = words
        if name == "DATA":
            break
    if wanted := {"FIELDS", "SIZE", "TYPE", "POINTS", "DATA"} - header.keys():
        raise ValueError(f"no .pcd file: its header has no {min(wanted)}")
    return header, after


def _pair_types(header: dict[str, list[str]]) -> list[tuple[str, str]]:
    return list(zip(header["TYPE"], header["SIZE"], strict=True))


def _get_intensity(rows: np.ndarray[tuple[int], np.dtype[np.void]]) -> Singles:
    """Return (N,) intensities: their own field, or the red of `rgb`."""
    names = rows.dtype.names or ()
    if "intensity" in names:
        return rows["intensity"].astype(np.float32)
    if "rgb" in names:
        # colours are bits, also where the type is a float
        bits = np.ascontiguousarray(rows["rgb"])
        whole = bits.astype(np.float32).view(np.uint32) if bits.dtype.kind == "f" else bits
        return ((whole.astype(np.uint32) >> 16 & 255) / np.float32(255)).astype(np.float32)
    return np.zeros(len(rows), np.float32)
