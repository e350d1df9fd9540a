"""Python in a process of its own: wheels may end the process that loads them."""

from __future__ import annotations

import subprocess
import sys

from harness.common.environments import build_child_environment
from harness.common.installation import PACKAGES
from harness.common.subprocesses import describe_exit

PATIENCE = 120.0
"""Seconds; the first import after an install may be slow."""


def run_code(code: str, *arguments: str) -> tuple[int, str, str]:
    """Run a few lines of Python; return exit code, what they printed, and their last complaint."""
    return run_python("-c", code, *arguments)


def run_python(*arguments: str) -> tuple[int, str, str]:
    """Run Python; return exit code, what it printed, and its last complaint."""
    command = [sys.executable, *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=PACKAGES,
            env=build_child_environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 1, "", f"no answer within {PATIENCE:g} s"
    complaint = done.stderr.strip().splitlines()[-1:] or [f"ended {describe_exit(done.returncode)}"]
    return done.returncode, done.stdout, complaint[0]
