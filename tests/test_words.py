"""One name for one thing: the words that docs/glossary.md avoids are nowhere in the house."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"
ROOMS = ("harness", "agents", "analysis", "studies", "tools", "crucible", "tests")
PAGES = sorted(
    path for path in [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")] if path != GLOSSARY
)
SETTINGS = sorted((ROOT / "conf").rglob("*.yaml"))
OTHERS = [
    *(ROOT / name for name in ("Makefile", "mkdocs.yml", "pyproject.toml", ".ci/run", ".ci/wheel")),
    *(ROOT / name for name in ("run_campaign.py", "setup.py", "docs/tutorials/notebook.ipynb")),
]

WORD = re.compile(r"[a-z]+(?:_[a-z]+)*")
QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|“[^”]*”")
TEXTS = (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
FOREIGN = frozenset(  # names of other packages, which we cannot choose
    [
        *("FileNotFoundError", "ModuleNotFoundError", "PackageNotFoundError"),  # Python's
        "hand_brake",  # carla.VehicleControl
        *("ImageDraw", "Draw"),  # Pillow
        "draw_geometries",  # Open3D
        *("RIGHT_HAND_Z_UP", "draw_order"),  # Rerun
        *("data.draw", "DrawFn"),  # Hypothesis
        "_scanner.tell",  # msgpack.Unpacker
        "companyName",  # a field of ETSI's DENM
        *("_study.tell", "_emitter.tell"),  # Optuna, pyribs
    ]
)


@cache
def avoided() -> tuple[frozenset[str], frozenset[str], tuple[str, ...]]:
    """Return words avoided everywhere, those avoided as names, and avoided phrases."""
    words, names, phrases = set[str](), set[str](), set[str]()
    column = None
    for line in GLOSSARY.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if "avoid" in cells:
            column = cells.index("avoid")
        elif not cells:
            column = None
        elif column is not None and not set(line) <= set("|- "):
            for entry in filter(None, (entry.strip() for entry in cells[column].split(","))):
                kind = {"`": names, '"': phrases}.get(entry[0], words)
                kind.add(entry.strip('`"'))
    return frozenset(words), frozenset(names), tuple(sorted(phrases))


def hits_in(text: str) -> Iterator[str]:
    """Yield what is avoided in a text."""
    words, _, phrases = avoided()
    bare = QUOTED.sub(" ", text).lower()
    yield from (word for word in WORD.findall(bare) if word in words)
    plain = " ".join(bare.split())
    yield from (phrase for phrase in phrases if phrase in plain)


def in_python(source: str) -> Iterator[tuple[int, str]]:
    """Yield lines and words: in names, comments, docstrings and texts."""
    words, names, _ = avoided()
    before = ["", ""]
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        dotted = "".join([*before, token.string])
        before = [before[1], token.string]
        if {token.string, dotted} & FOREIGN:
            continue
        if token.type == tokenize.NAME:
            parts = {part.lower() for part in PARTS.findall(token.string)} | {token.string}
            hits: Iterator[str] = iter(sorted(parts & (words | names)))
        elif token.type == tokenize.COMMENT:
            hits = hits_in(token.string)
        elif token.type in TEXTS:
            hits = hits_in(token.string.strip("rbfRBF").strip("\"'"))
        else:
            continue
        yield from ((token.start[0], hit) for hit in hits)


def in_page(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines and words of a page, without its blocks of code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield from ((number, hit) for hit in hits_in(line))


def in_settings(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines and words of a file of settings: keys, values and comments."""
    for number, line in enumerate(text.splitlines(), 1):
        yield from ((number, hit) for hit in hits_in(line))


def test_the_glossary_avoids_words_names_and_phrases() -> None:
    words, names, phrases = avoided()
    assert {"told", "nobody", "anew", "invented"} <= words
    assert {"each", "found", "own"} <= names
    assert "told from chance" in phrases


@pytest.mark.parametrize("room", ROOMS)
def test_code_uses_the_words(room: str) -> None:
    paths = [path for path in sorted((ROOT / room).rglob("*.py")) if path != Path(__file__)]
    assert paths
    hits = [hit for path in paths for hit in located(path, in_python(path.read_text()))]
    assert not hits, shown(hits)


def test_pages_use_the_words() -> None:
    assert PAGES
    hits = [hit for path in PAGES for hit in located(path, in_page(path.read_text()))]
    assert not hits, shown(hits)


def test_settings_use_the_words() -> None:
    assert SETTINGS
    hits = [hit for path in SETTINGS for hit in located(path, in_settings(path.read_text()))]
    assert not hits, shown(hits)


def test_other_files_use_the_words() -> None:
    hits = [hit for path in OTHERS for hit in located(path, in_settings(path.read_text()))]
    assert not hits, shown(hits)


def located(path: Path, hits: Iterable[tuple[int, str]]) -> list[str]:
    """Return where each word stands."""
    return [f"{path.relative_to(ROOT)}:{line}: {word}" for line, word in hits]


def shown(hits: list[str]) -> str:
    """Return the first hits and how many there are."""
    return "\n".join([f"{len(hits)} avoided words", *hits[:200]])


def test_what_is_avoided_is_seen() -> None:
    source = 'def f(told_size):  # nobody\n    """Tells "nobody"."""\n    for each in (): ...\n'
    source += "    a.draw(FileNotFoundError, data.draw(b))\n"
    expected = [(1, "nobody"), (1, "told"), (2, "tells"), (3, "each"), (4, "draw")]
    assert sorted(in_python(source)) == expected
    assert list(in_page("new\n```\nnobody\n```\n`anew` afresh\n")) == [(5, "afresh")]
    assert list(in_settings("seed: 1 # anew\nkey: 2 # told\n")) == [(1, "anew"), (2, "told")]
