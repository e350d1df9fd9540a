"""One line about a name that is unknown: the nearest valid one, and all of them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def describe_unknown_name(what: str, name: str, valid: Iterable[str], plural: str = "") -> str:
    """Return `unknown key latancy; did you mean latency? valid keys: latency, loss`.

    Args:
        what: kind of the name, such as `key`.
        name: what the user wrote.
        valid: all valid names.
        plural: of `what`, where it does not end in `s`.

    Returns:
        A part of a line, to stand behind the place.
    """
    names = list(valid)
    close = get_close_matches(name.lower(), names, n=1)
    hint = f" did you mean {close[0]}?" if close else ""
    return f"unknown {what} {name};{hint} valid {plural or what + 's'}: {', '.join(names)}"
