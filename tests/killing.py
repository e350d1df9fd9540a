"""Campaigns that are killed, as tests of resuming need them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from tests.campaign.tiny import environment, ledger
from tests.conftest import ROOT


def kill_after_first_attempt(line: Sequence[str], out: Path, *, patience: float) -> None:
    """Start a campaign, and kill it once an attempt has ended.

    Args:
        line: the command.
        out: the campaign's folder.
        patience: seconds to wait for the first attempt, and for the children.
    """
    kill_once(line, lambda _: (out / "ledger.jsonl").exists() and bool(ledger(out)), patience)


def kill_while_driving(line: Sequence[str], out: Path, *, patience: float) -> None:
    """Start a campaign, and kill it once it has a ledger and a child.

    Args:
        line: the command.
        out: the campaign's folder.
        patience: seconds to wait for both, and for the end of the children.
    """
    kill_once(
        line,
        lambda runner: (out / "ledger.jsonl").exists() and bool(runner.children()),
        patience,
    )


def kill_once(
    line: Sequence[str], ready: Callable[[psutil.Process], bool], patience: float
) -> None:
    """Start a campaign, kill it with SIGKILL once it is ready, and wait until no child lives."""
    runner = subprocess.Popen(
        line,
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    process = psutil.Process(runner.pid)
    children: list[psutil.Process] = []
    try:
        until = time.monotonic() + patience
        while not ready(process):
            assert runner.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        children = process.children(recursive=True)
    finally:
        os.kill(runner.pid, signal.SIGKILL)
        runner.wait()
    _, alive = psutil.wait_procs(children, patience)
    assert alive == []
