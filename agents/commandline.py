"""How command lines of this room end: bad input is one line, not a traceback."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from harness.common.errors import AttemptError, UserError
from harness.common.terminal_lines import print_problem

BAD_INPUT, NO_GROUND = 2, 3


def refuse_less_than_one(options: argparse.Namespace, *names: str) -> None:
    """Refuse numbers of things of which there must be one."""
    for name in names:
        number = getattr(options, name)
        if number is not None and number < 1:
            raise UserError(f"--{name} {number}: must be 1 or more")


def run_and_report(work: Callable[[], int]) -> int:
    """Do the work; return its exit code, or that of what kept it from its end."""
    try:
        return work()
    except UserError as problem:
        why, code = str(problem), BAD_INPUT
    except AttemptError as problem:
        why, code = str(problem), NO_GROUND
    except OSError as problem:
        if problem.filename is None:
            raise
        why, code = f"{problem.filename}: {problem.strerror}", BAD_INPUT
    print_problem(why)
    return code
