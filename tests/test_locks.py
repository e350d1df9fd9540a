"""Locks of files: one holder, or several that share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from harness.common.locks import lock_file

HOLD = """
import sys
from harness.common.locks import lock_file
with open(sys.argv[1]) as file:
    print(lock_file(file.fileno(), shared=sys.argv[2] == "shared"), flush=True)
    sys.stdin.read()
"""


def test_a_lock_is_free_again_when_its_holder_is_killed(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    for shared in (False, True):
        command = [sys.executable, "-c", HOLD, str(tmp_path / "lock"), "shared" * shared]
        with (
            (tmp_path / "lock").open() as ours,
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder,
        ):
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"True\n"
            assert lock_file(ours.fileno(), shared=True) is shared
            assert not lock_file(ours.fileno())
            holder.kill()
            holder.wait()
            assert lock_file(ours.fileno())
