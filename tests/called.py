"""Commands called in the test's process, where a new one would only import for seconds."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

CommandCall: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]


def make_command_call(
    main: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> CommandCall:
    """Return what calls `main` with words and returns how that ended, as a process would."""

    def call(*words: str | Path) -> subprocess.CompletedProcess[str]:
        capsys.readouterr()
        code = main([str(word) for word in words])
        return subprocess.CompletedProcess(words, code, *capsys.readouterr())

    return call
