"""How command lines of this room end: bad input is one line, not a traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable

from harness.errors import AttemptError, UserError

BAD_INPUT, NO_GROUND = 2, 3


def ended(work: Callable[[], int]) -> int:
    """Do the work; return its exit code, or that of what kept it from its end."""
    try:
        return work()
    except UserError as problem:
        why, code = str(problem), BAD_INPUT
    except AttemptError as problem:
        why, code = str(problem), NO_GROUND
    print(why, file=sys.stderr)
    return code
