"""On PYTHONPATH: what newer Python lacks and the leaderboard calls; no file of it is changed.

`Element.getchildren` left Python in 3.9. The accelerated class takes no new method, so the pure
class of the standard library is used. `numpy.float`, `numpy.int` and `numpy.bool` were names of
Python's types up to numpy 1.23.
"""

from __future__ import annotations

import builtins
import contextlib
import sys

sys.modules["_elementtree"] = None  # type: ignore[assignment]  # the import then fails

from xml.etree import ElementTree  # noqa: E402


def list_children(element: ElementTree.Element) -> list[ElementTree.Element]:
    """What `Element.getchildren` returned up to Python 3.8."""
    return list(element)


# the stubs have no `getchildren`, because Python has none: that is what is given back here
ElementTree.Element.getchildren = list_children  # type: ignore[attr-defined]

with contextlib.suppress(ImportError):
    import numpy as np

    for _name in ("float", "int", "bool"):
        if _name not in vars(np):
            setattr(np, _name, getattr(builtins, _name))
