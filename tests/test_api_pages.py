"""`crucible.api` is all that pages and notebooks import, and it loads only what is asked for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import crucible.api
from tests.conftest import ROOT

DOCS = ROOT / "docs"
ROOMS = ("how-to", "tutorials", "reference")
PAGES = sorted(
    [
        *(
            page
            for room in ("how-to", "tutorials", "reference")
            for page in (DOCS / room).rglob("*")
        ),
        ROOT / "README.md",
    ]
)
DEEP = re.compile(
    r"^[ \"]*(?:from (?:harness|agents|analysis|metamorphic|crucible\.(?!api\b))[\w.]* import"
    r"|import (?:harness|agents|analysis|metamorphic)\b)",
    re.MULTILINE,
)


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.suffix in {".md", ".ipynb"}],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_no_page_imports_deeper_than_the_api(page: Path) -> None:
    assert not DEEP.findall(page.read_text(encoding="utf-8"))


def test_a_deeper_import_is_seen() -> None:
    for line in (
        "from harness.types.vocabulary import Boxes",
        '    "from analysis.drawing.plots import PlotLine\\n",',
        "import agents.merging",
        "from crucible.check import main",
    ):
        assert DEEP.search(f"text\n{line}\n"), line
    for line in ("from crucible.api import Boxes", "import crucible", "from mylab import Mine"):
        assert not DEEP.search(f"text\n{line}\n"), line


def test_every_name_can_be_imported() -> None:
    assert len(dir(crucible.api)) > 50
    for name in dir(crucible.api):
        assert getattr(crucible.api, name) is not None, name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Boxs'"):
        crucible.api.Boxs  # noqa: B018


def test_a_metric_of_a_plug_in_loads_neither_pandas_nor_torch() -> None:
    code = (
        "import sys; from crucible.api import Boxes, Disturbance, Metric, StepData;"
        "print(sorted({'pandas', 'torch', 'carla', 'hydra', 'analysis'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
