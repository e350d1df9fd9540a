"""What a fusion module of your own is made of."""

from agents.perception.fusion.base import FeatureSpec, IntermediateFusion, Partner, SparseFeatures

__all__ = ["FeatureSpec", "IntermediateFusion", "Partner", "SparseFeatures"]
