"""The child process as a program: it refuses another version, and exits with its parent."""

from __future__ import annotations

import subprocess
import sys

from agents.foreign.child import wire
from agents.v2xverse.system import FAR_END


def test_another_version_is_answered_with_that_of_the_child() -> None:
    far = subprocess.Popen(
        [sys.executable, str(FAR_END)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert far.stdin
    assert far.stdout
    wire.send(far.stdin, {"kind": "hello", "version": wire.VERSION + 1})
    answer = wire.receive(far.stdout)
    assert answer == ({"kind": "refused", "version": wire.VERSION}, {})
    assert wire.receive(far.stdout) is None
    assert far.wait() == 0


def test_it_exits_when_stdin_is_closed() -> None:
    far = subprocess.Popen([sys.executable, str(FAR_END)], stdin=subprocess.PIPE)
    assert far.stdin
    far.stdin.close()
    assert far.wait() == 0
