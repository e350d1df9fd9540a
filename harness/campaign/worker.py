"""One try, in a process of its own: `python -m harness.campaign.worker`, the task on its input.

The client library may abort its process; here that costs one try and nothing else.
"""

from __future__ import annotations

import os
import sys
import traceback

from harness.campaign.attempt import run_attempt
from harness.campaign.tasks import Task, answer
from harness.errors import AttemptError, UserError


def main() -> None:
    """Run the try, then say on the last line how it ended."""
    task = Task.from_json(sys.stdin.readline())
    try:
        told = answer(None, run_attempt(task))
    except AttemptError as problem:
        told = answer(problem.failure, str(problem))
    except UserError as problem:
        told = answer("route_invalid", str(problem))
    except MemoryError:
        told = answer("agent_out_of_memory", "out of memory")
    except Exception as problem:
        traceback.print_exc()
        told = answer("agent_exception", f"{type(problem).__name__}: {problem}")
    print(told, flush=True)
    sys.stderr.flush()
    os._exit(0)  # the client library's threads do not always end by themselves


if __name__ == "__main__":
    main()
