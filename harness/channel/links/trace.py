"""Delays and losses as a file has them, in blocks that are sampled for each seed."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from harness.channel.links.link import UNKNOWN, Carriage, Link
from harness.channel.links.sight import PathView
from harness.common.errors import UserError
from harness.common.files import expand_home
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Message

MOST_LINES = 1_000_000
LONGEST = 3600.0
"""Seconds of a delay in a file, at most."""


class TraceLink(Link):
    """A file of delays and losses of consecutive messages, resampled in blocks.

    The circular block bootstrap of Politis and Romano 1992, "A circular block-resampling procedure
    for stationary data": blocks of equal length, each from a uniformly sampled line of the file on,
    and behind the last line comes the first. Blocks keep bursts of losses together.
    """

    safe_from_file = True

    def __init__(
        self,
        file: str,  # CSV with the columns delay (s) and lost (0 or 1), one line for each message
        block: int = 50,  # consecutive messages of a sender that are taken from the file together
    ) -> None:
        super().__init__()
        if not isinstance(block, int) or block < 1:
            raise UserError(f"link.block = {block}: must be a whole number ≥ 1")
        self.file = expand_home(file, "link.file")
        self.block = block
        self.lines = read_trace(self.file)
        self._sent: dict[str, int] = {}

    @staticmethod
    def files(file: str, **others: object) -> list[Path]:
        """Return the one file that is read."""
        return [expand_home(file, "link.file")]

    def reset(self, seed: int) -> None:
        """Start an episode at the first block of every sender."""
        super().reset(seed)
        self._sent = {}

    def make_carriage(self, message: Message, view: PathView | None) -> Carriage:
        """Return the next line of the block for a message of this sender."""
        number = self._sent.get(message.sender, 0)
        self._sent[message.sender] = number + 1
        block, within = divmod(number, self.block)
        names = (str(block), *self.name_receiver())
        random = make_named_stream(self._seed, "link", "trace", message.sender, *names)
        start = int(random.integers(len(self.lines)))
        delay, lost = self.lines[(start + within) % len(self.lines)]
        return Carriage(
            sender=message.sender,
            frame=message.capture_frame,
            time=message.capture_time,
            size_bytes=message.size_bytes,
            delay=delay,
            lost=lost,
            distance=math.nan if view is None else view.distance,
            sight=UNKNOWN if view is None else view.sight,
        )


def read_trace(file: Path) -> list[tuple[float, bool]]:
    """Return delays in seconds and losses, line by line.

    Raises:
        UserError: the file cannot be read, or a line of it has no delay or loss.
    """
    try:
        with file.open(newline="", encoding="utf-8") as text:
            rows = csv.DictReader(text)
            missing = {"delay", "lost"} - set(rows.fieldnames or ())
            if missing:
                raise UserError(f"link.file = {file}: no column {' or '.join(sorted(missing))}")
            lines: list[tuple[float, bool]] = []
            for row in rows:
                if len(lines) == MOST_LINES:
                    raise UserError(f"link.file = {file}: more than {MOST_LINES:,} lines")
                lines.append(parse_trace_line(row, f"link.file = {file}: line {rows.line_num}"))
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        reason = getattr(problem, "strerror", None) or "not a CSV file in UTF-8"
        raise UserError(f"link.file = {file}: {reason}") from None
    if not lines:
        raise UserError(f"link.file = {file}: no lines")
    return lines


def parse_trace_line(row: dict[str, str], place: str) -> tuple[float, bool]:
    """Return delay and loss of a line; the delay of a lost message may be left out."""
    lost = row["lost"]
    if lost not in ("0", "1"):
        raise UserError(f"{place}: lost = {str(lost)[:20]!r}: must be 0 or 1")
    if lost == "1":
        return 0.0, True
    try:
        delay = float(row["delay"])
    except (TypeError, ValueError):
        delay = math.nan
    if not 0 <= delay <= LONGEST:
        text = str(row["delay"])[:20]
        raise UserError(f"{place}: delay = {text!r}: must be from 0 to {LONGEST:g} s")
    return delay, False
