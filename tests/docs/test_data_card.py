"""The data card and CITATION.cff say what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from tests.docs.reference import ROOT

CARD = ROOT / "docs" / "study" / "data-card.md"
ROW = re.compile(r"^\| [^|]+ \| `(studies/[^`]+)` \| ([^|]+) \| ([0-9.]+) \|$", re.MULTILINE)
ROWS = ROW.findall(CARD.read_text())


def list_data_files(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.is_file())


def test_every_place_has_a_row() -> None:
    packed = {path.parent for path in (ROOT / "studies").rglob("*.parquet")}
    named = {ROOT / place for place, *_ in ROWS}
    assert len(ROWS) == 6
    assert packed <= named | {place.parent for place in named if place.is_file()}


@pytest.mark.parametrize(("place", "text", "megabytes"), ROWS)
def test_files_drives_and_bytes_are_those_of_the_card(
    place: str, text: str, megabytes: str
) -> None:
    files = list_data_files(ROOT / place)
    size = sum(file.stat().st_size for file in files) / 1e6
    decimals = len(megabytes.partition(".")[2])
    assert round(size, decimals) == float(megabytes)
    if counted := re.match(r"(\d+) packed files with (\d+) drives", text):
        kinds = [pq.read_table(file, columns=["kind"])["kind"].to_pylist() for file in files]
        drives = sum(kind == "attempt" for some in kinds for kind in some)
        assert (len(files), drives) == tuple(map(int, counted.groups()))


def test_the_citation_names_the_version_and_the_licence_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    package = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{citation["version"]}"' in package
    assert f'license = "{citation["license"]}"' in package
    for needed in ("cff-version", "message", "title", "authors", "type"):
        assert citation[needed]
