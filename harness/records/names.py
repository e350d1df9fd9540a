"""File names for whatever people call things."""

from __future__ import annotations

from urllib.parse import quote, unquote

from harness.common.errors import UserError

LONGEST = 200
"""Characters of an escaped name; file systems allow 255 bytes, and a seed comes behind."""
NOTHING = "%"
"""Stands for the empty name: escaping makes no single percent sign."""


def escape_file_name(name: str) -> str:
    """Return a file name for any name: it stays in its folder, is not hidden, and reads back."""
    escaped = quote(name, safe=" ()+,=@[]{}", errors="surrogatepass") or NOTHING
    if escaped.startswith("."):
        escaped = "%2E" + escaped[1:]
    if len(escaped) > LONGEST:
        raise UserError(f"{name[:40]!r}...: too long for a file's name; choose a shorter one")
    return escaped


def unescape_file_name(escaped: str) -> str:
    """Return the name that a safe name stands for."""
    return "" if escaped == NOTHING else unquote(escaped, errors="surrogatepass")
