"""Locks of files: the system drops one with its last holder, however that exits."""

from __future__ import annotations

import fcntl


def lock_file(handle: int, shared: bool = False) -> bool:
    """Take the lock of an open file; return whether nothing else holds it.

    Raises OSError on a file system that has no locks.

    Args:
        handle: a file descriptor.
        shared: whether other shared locks may be held.

    Returns:
        The lock is held until the last copy of the descriptor is closed.
    """
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
