"""Fusion modules by their names on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from agents.conformance.instantiation import make_system_factory
from agents.perception.fusion.base import FusionModule, IntermediateFusion
from agents.perception.fusion.catalogue import SCHEMES
from harness.common.errors import UserError
from harness.common.suggestions import describe_unknown_name


def make_fusion_module(scheme: str, settings: Sequence[str] = ()) -> FusionModule:
    """Return a new fusion module: of a scheme of ours, or of the class package.module:Class.

    Args:
        scheme: its name, or a class of the user's.
        settings: arguments of the class, as name=value.

    Raises:
        UserError: neither of both.
    """
    if ":" not in scheme and scheme not in SCHEMES:
        text = describe_unknown_name("scheme", scheme, SCHEMES)
        raise UserError(f"--scheme: {text}, or package.module:Class")
    kind = SCHEMES.get(scheme)
    target = scheme if kind is None else f"{kind.__module__}:{kind.__name__}"
    fusion = make_system_factory(target, settings)()
    if not isinstance(fusion, IntermediateFusion if kind is None else FusionModule):
        raise UserError(f"--scheme {scheme}: not a subclass of IntermediateFusion")
    return fusion
