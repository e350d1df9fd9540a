"""Protocols of studies: a committed file from whose digest the seeds of its test towns come."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from harness.common.errors import UserError
from harness.common.safe_reading import PROTOCOL, read_within

PREFIX = "Test_"
"""What the names of all test towns begin with, and those of no other town."""
DIGITS = 8
"""Hexadecimal digits of a protocol's digest in the names of its test towns."""
NAME = re.compile(rf"{PREFIX}([0-9a-f]{{{DIGITS}}})_([1-9][0-9]*)", re.ASCII)
SEEDS = 2**63
ROUTES = "routes"
"""Where a protocol's digest has the seed of its routes."""


def hash_protocol(protocol: Path) -> str:
    """Return a protocol's digest: SHA-256 of the file's bytes, as hexadecimal digits."""
    try:
        return hashlib.sha256(read_within(protocol, PROTOCOL, follow=True)).hexdigest()
    except OSError as problem:
        raise UserError(f"protocol: {protocol}: {problem.strerror}") from None


def derive_protocol_seed(digest: str, place: int | str) -> int:
    """Return a seed that a protocol's digest gives: of its towns by number from 0, of its routes.

    It is the SHA-256 of the text `DIGEST/PLACE`: its first eight bytes as a big-endian number,
    modulo 2^63.

    Args:
        digest: of the protocol, hexadecimal.
        place: number of the town in the sequence, or a word.
    """
    text = f"{digest}/{place}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % SEEDS


def get_town_prefix(digest: str) -> str:
    """Return what the names of a protocol's test towns begin with."""
    return f"{PREFIX}{digest[:DIGITS]}"


def format_town_name(digest: str, number: int) -> str:
    """Return the name of a protocol's test town; the first has number 1.

    Args:
        digest: of the protocol, in hexadecimal.
        number: from 1 on.
    """
    return f"{get_town_prefix(digest)}_{number}"


def is_test_town(town: str) -> bool:
    """Return whether a town may be driven in only as its protocol says."""
    return town.lower().startswith(PREFIX.lower())


def refuse_unannounced(towns: Iterable[str], protocol: Path | None) -> None:
    """Refuse test towns without the protocol that their names were made from.

    Args:
        towns: names of towns that are driven in.
        protocol: file of the protocol; None where none was named.

    Raises:
        UserError: a test town without its protocol.
    """
    for town in filter(is_test_town, sorted(towns)):
        if protocol is None:
            raise UserError(
                f"{town}: a test town; protocol=FILE must name the protocol whose digest made it"
            )
        named = NAME.fullmatch(town)
        if named is None or named[1] != hash_protocol(protocol)[:DIGITS]:
            first = format_town_name(hash_protocol(protocol), 1)
            raise UserError(
                f"{town}: not a town of {protocol}, whose first is {first}; name the protocol as it"
                " was when the town was made"
            )
