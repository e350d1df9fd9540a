"""The far end as a program: it tells its version when asked in another, and goes with us."""

from __future__ import annotations

import subprocess
import sys

from agents.v2xverse.child import wire
from agents.v2xverse.system import FAR_END


def test_another_version_is_answered_with_its_own() -> None:
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


def test_it_goes_when_nobody_asks_any_more() -> None:
    far = subprocess.Popen([sys.executable, str(FAR_END)], stdin=subprocess.PIPE)
    assert far.stdin
    far.stdin.close()
    assert far.wait() == 0
