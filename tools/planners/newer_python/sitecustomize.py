"""On PYTHONPATH: what newer Python lacks and the leaderboard calls; no file of it is changed.

`Element.getchildren` left Python in 3.9. The accelerated class takes no new method, so the pure
class of the standard library is used.
"""

from __future__ import annotations

import sys

sys.modules["_elementtree"] = None  # type: ignore[assignment]  # the import then fails

from xml.etree import ElementTree  # noqa: E402


def list_children(element: ElementTree.Element) -> list[ElementTree.Element]:
    """What `Element.getchildren` returned up to Python 3.8."""
    return list(element)


ElementTree.Element.getchildren = list_children  # type: ignore[attr-defined]
