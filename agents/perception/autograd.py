"""Functions with gradients of their own, called with types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.autograd import Function


def apply_function(function: type[Function], *arguments: Any) -> Tensor:
    """Return what a function with its own gradients gives.

    Args:
        function: whose `forward` returns one tensor.
        arguments: of its `forward`, without the context.
    """
    # torch has no types for `Function.apply`
    apply: Callable[..., Tensor] = function.apply
    return apply(*arguments)
