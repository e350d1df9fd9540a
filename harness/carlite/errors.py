"""What can go wrong, and who gets the message."""

from __future__ import annotations


class UserError(Exception):
    """Bad input at the command line: one clear line on stderr and exit code 2."""


class CallError(Exception):
    """A remote call that cannot be served: the client sees it as `RuntimeError(message)`."""
