"""Compilation of the hot loops: numba, cached on disk, and IEEE arithmetic throughout.

`fastmath` stays off: equal seeds must give equal bytes in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """Compile `function` to machine code at its first call, or load it from the disk cache."""
    return cast(Kernel, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
