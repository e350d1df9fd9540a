"""Pages of the documentation, executed: each code block in order, in an empty folder.

What a block is follows from its fence:

- ```` ```python title="mylab/system.py" ```` (any language with a title) is written to that file
- ```` ```bash ```` is run in that folder; what it exports stays for the blocks after it
- ```` ```python ```` without a title is run as a script
- ```` ```text ```` is output of the block before: each line must be in it, whatever the spaces;
  `…` in a line stands for anything
- a block in any other language is not executed
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

FENCE = re.compile(
    r"^```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<code>.*?)^```$", re.M | re.S
)
CRUCIBLE = """#!{python}
from crucible.commandline import entry

if __name__ == "__main__":
    entry()
"""
"""The console command, of this interpreter."""
PYTHON = """#!/bin/sh
exec {python} "$@"
"""
"""The interpreter; behind a link it would not know its virtual environment."""


@dataclass(frozen=True, slots=True)
class Block:
    """A code block of a page."""

    language: str
    title: str | None
    code: str
    line: int  # of its fence


def blocks(text: str) -> list[Block]:
    """Return the code blocks of a page."""
    return [
        Block(
            match["language"], match["title"], match["code"], text[: match.start()].count("\n") + 1
        )
        for match in FENCE.finditer(text)
    ]


def execute(
    page: Path,
    folder: Path,
    before: Sequence[str] = (),
    smaller: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Execute a page in a folder; return all output.

    Commands of `before` are run first. `smaller` is what replaces parts of the page, to take less
    time than a reader has.
    """
    environment = {**os.environ, "PATH": f"{commands(folder)}:{os.environ['PATH']}"}
    exports = folder / ".exports"
    outputs = [shell(command, folder, environment, exports) for command in before]
    for block in blocks(replaced(page.read_text(), smaller)):
        where = f"{page.name}:{block.line}"
        if block.title is not None:
            file = folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.code)
        elif block.language == "bash":
            outputs.append(shell(block.code, folder, environment, exports, where))
        elif block.language == "python":
            outputs.append(
                shell(f"python - <<'PAGE'\n{block.code}PAGE", folder, environment, exports, where)
            )
        elif block.language == "text":
            compare(block.code, outputs[-1], where)
    return "\n".join(outputs)


def replaced(text: str, parts: Mapping[str, str]) -> str:
    """Return a text with other parts, each of which is there once."""
    for part, other in parts.items():
        assert text.count(part) == 1, part
        text = text.replace(part, other)
    return text


def commands(folder: Path) -> Path:
    """Return a folder with `python` and `crucible` as a reader has them after installing."""
    there = folder / ".bin"
    there.mkdir()
    for name, text in (("python", PYTHON), ("crucible", CRUCIBLE)):
        (there / name).write_text(text.format(python=sys.executable))
        (there / name).chmod(0o755)
    return there


def shell(
    code: str, folder: Path, environment: dict[str, str], exports: Path, where: str = "before"
) -> str:
    """Run commands with what earlier ones exported; the first that fails ends the page."""
    kept, there = shlex.quote(str(exports)), shlex.quote(str(folder))
    known = f"source {kept}" if exports.exists() else ""
    script = f"set -e\n{known}\ncd {there}\n{code}\nexport -p > {kept}"
    done = subprocess.run(
        ["bash", "-c", script],
        check=False,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{where}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def compare(expected: str, output: str, where: str) -> None:
    """Compare output with what a page promises, line by line."""
    lines = [" ".join(line.split()) for line in output.splitlines()]
    for promised in filter(None, (" ".join(line.split()) for line in expected.splitlines())):
        pattern = ".*".join(map(re.escape, promised.split("…")))
        assert any(re.search(pattern, line) for line in lines), (
            f"{where}: not in the output: {promised}\n{output}"
        )
