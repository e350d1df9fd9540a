"""The schemes that come with Crucible, by name."""

from __future__ import annotations

from agents.perception.fusion.attfuse import AttFuse
from agents.perception.fusion.base import (
    EarlyFusion,
    FusionModule,
    IntermediateFusion,
    LateFusion,
    NoFusion,
)
from agents.perception.fusion.codriving import CoDriving
from agents.perception.fusion.disconet import DiscoNet
from agents.perception.fusion.fcooper import FCooper
from agents.perception.fusion.v2vnet import V2VNet
from agents.perception.fusion.v2xvit import V2XViT

INTERMEDIATE: dict[str, type[IntermediateFusion]] = {
    kind.scheme: kind for kind in (FCooper, AttFuse, DiscoNet, V2VNet, V2XViT, CoDriving)
}
SCHEMES: dict[str, type[FusionModule]] = {
    **{kind.scheme: kind for kind in (NoFusion, EarlyFusion, LateFusion)},
    **INTERMEDIATE,
}


def is_shipped(fusion: type[FusionModule]) -> bool:
    """Return whether weights of this class come with Crucible."""
    return SCHEMES.get(fusion.scheme) is fusion


def find_shipped_class(target: str) -> type[FusionModule] | None:
    """Return the shipped class that a `_target_` names."""
    return next(
        (kind for kind in SCHEMES.values() if target == f"{kind.__module__}.{kind.__name__}"), None
    )
