"""Compilation on several cores: `python -m harness.carlite.precompile`.

`make setup` runs it, so that the first server of a machine starts as fast as later ones. With the
names of stages it is one of the helpers of such a process.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any, NoReturn

from harness.carlite import compiled, log
from harness.carlite.compile_helpers import CompileHelpers, count_spare_cores
from harness.carlite.server import CompilationNotice
from harness.carlite.serving import DEFAULT_TOWN
from harness.carlite.towns import load_town
from harness.carlite.warmup import ensure_compiled, run_warmup_from


def exit_with_parent() -> NoReturn:
    """Exit when the other end of stdin is closed, as the system does when its process ends."""
    while os.read(0, 1):
        pass
    os._exit(1)


def compile_all() -> None:
    """Run the warm-up of a server, with helpers, and print what was compiled."""
    missing: list[str] = []
    compiled.add_compile_listener(CompilationNotice())
    compiled.add_compile_listener(lambda name, on_disk: None if on_disk else missing.append(name))
    with CompileHelpers(count_spare_cores()):
        ensure_compiled(load_town(DEFAULT_TOWN, None))
    if missing:
        log.write_log_line(f"compiled; {len(missing)} functions by the first of its processes")


def compile_share(stages: list[str]) -> None:
    """Run the warm-up from some stages on, as a helper whose parent holds its stdin."""
    threading.Thread(target=exit_with_parent, daemon=True).start()
    run_warmup_from(stages)


if __name__ == "__main__":
    without_scipy: dict[str, Any] = {"scipy": None}  # numba would import it, and nothing needs it
    sys.modules.update(without_scipy)
    if sys.argv[1:]:
        compile_share(sys.argv[1:])
    else:
        compile_all()
