"""Campaigns that are killed after their first attempt, as tests of resuming need them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from tests.campaign.tiny import environment, ledger
from tests.conftest import ROOT


def kill_after_first_attempt(line: Sequence[str], out: Path, *, patience: float) -> None:
    """Start a campaign, kill it with SIGKILL, and wait until no child of it lives.

    Args:
        line: the command.
        out: the campaign's folder.
        patience: seconds to wait for the first attempt, and for the children.
    """
    runner = subprocess.Popen(
        line,
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + patience
        while not (out / "ledger.jsonl").exists() or not ledger(out):
            assert runner.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        children = psutil.Process(runner.pid).children(recursive=True)
    finally:
        os.kill(runner.pid, signal.SIGKILL)
        runner.wait()
    _, alive = psutil.wait_procs(children, patience)
    assert alive == []
