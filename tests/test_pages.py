"""How-to pages do what they say; and a page that does not is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.pages import blocks, execute

EXECUTED = (
    "plugins",
    "own-fusion",
    "own-metric",
    "own-hazard",
    "own-disturbance",
    "own-sensing",
    "own-scene-change",
    "own-route-source",
    "own-study",
    "own-export",
    "python",
)
HOW_TO = [ROOT / "docs" / "how-to" / f"{name}.md" for name in EXECUTED]
"""Pages of which every command is executed."""
SMALLER = {
    "own-fusion": {
        "--scenarios 1": "--scenarios 1 --looks 2",
        "'system=[single]'": "'system=[]'",
    },
    "python": {
        'only=["3"]': 'routes="short"',
        'route="3", seed=[1, 2]': 'route="short", seed=[1, 2]',
    },
}
"""Less than a reader records and drives: fewer moments, no second system, a shorter route."""
LONGEST = 80
"""Lines of a page that one reads at once."""


@pytest.mark.thorough
@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_a_how_to_works(page: Path, tmp_path: Path) -> None:
    assert blocks(page.read_text())
    execute(page, tmp_path, smaller=SMALLER.get(page.stem, {}))


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_a_how_to_is_a_page_long(page: Path) -> None:
    assert len(page.read_text().splitlines()) <= LONGEST


def executed(folder: Path, *parts: str) -> str:
    page = folder / "page.md"
    page.write_text("# Title\n\n" + "\n\n".join(parts) + "\n")
    (folder / "site").mkdir()
    return execute(page, folder / "site")


def fenced(kind: str, code: str) -> str:
    return f"```{kind}\n{code}\n```"


def test_files_are_written_and_exports_stay(tmp_path: Path) -> None:
    output = executed(
        tmp_path,
        fenced('python title="mylab/thing.py"', "import os\nprint('thing', os.environ['WHO'])"),
        fenced("bash", "export WHO='some one'\ncd mylab"),
        fenced("bash", "python mylab/thing.py\ncrucible --version"),
        fenced("text", "thing   some …\ncrucible …"),
        fenced("python", "print(6 * 7)"),
        fenced("text", "42"),
        fenced("yaml", "not: executed"),
    )
    assert "thing some one" in output


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ((fenced("bash", "true\nfalse\ntrue"),), "page.md:3: exit code 1"),
        ((fenced("python", "raise SystemExit(3)"),), "exit code 3"),
        ((fenced("bash", "echo one"), fenced("text", "two")), "page.md:7: not in the output: two"),
    ],
)
def test_what_does_not_hold_fails(parts: tuple[str, ...], complaint: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=complaint):
        executed(tmp_path, *parts)
