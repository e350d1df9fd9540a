"""The check of an intermediate fusion module: on random feature maps, without a simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import torch
from torch import Tensor

from agents.perception.designs import LITE
from agents.perception.fusion.base import FeatureSpec, IntermediateFusion, Maps, Partner
from agents.perception.network import PerceptionNetwork, set_one_thread
from agents.perception.random_weights import make_random_weights
from harness.common.findings import Check, Finding, make_checks
from harness.types.vocabulary import Pose

CHECKS = {
    "forward": "runs with 0, 1, 2 and 4 partners",
    "shape": "returns the ego's maps in shape and type, all numbers finite",
    "inputs": "leaves what it is given unchanged",
    "deterministic": "equal inputs and weights give equal outputs",
    "order": "the order of partners does not matter",
    "partners": "what a partner sends changes the output",
    "pose": "where a partner stands changes the output",
    "no partner": "without partners, what was fused before does not matter",
    "message": "what is sent can be received",
    "gradients": "the loss reaches every weight",
}
POSES = (
    Pose(8.0, 3.2, yaw=0.4),
    Pose(-12.8, -3.2, yaw=3.0),
    Pose(20.0, 0.0, yaw=-1.5),
    Pose(3.0, 16.0, yaw=1.6),
)
COUNTS = (0, 1, 2, 4)
TOLERANCE = 1e-4
"""Share of the largest number of the output that rounding may change."""


class FusionExamination:
    """Puts one fusion module to all checks; after a failure, those that need it are not made."""

    def __init__(self, make: Callable[[], IntermediateFusion]) -> None:
        set_one_thread()
        self._make = make
        self._checks: dict[str, Check] = {
            "forward": self._check_forward,
            "shape": self._check_shape,
            "inputs": self._check_inputs,
            "deterministic": self._check_determinism,
            "order": self._check_partner_order,
            "partners": self._check_partner_effect,
            "pose": self._check_pose_effect,
            "no partner": self._check_no_partner,
            "message": self._check_message,
            "gradients": self._check_gradients,
        }

    def list_findings(self) -> list[Finding]:
        """Make every check, in order."""
        checks = {name: (meaning, self._checks[name]) for name, meaning in CHECKS.items()}
        return make_checks(checks, needed=("forward", "shape"))

    @cached_property
    def _network(self) -> PerceptionNetwork:
        """A lite network round the module, with random weights."""
        network = PerceptionNetwork(self._make(), LITE)
        network.load_state_dict(make_random_weights(network.state_dict(), LITE.grid))
        return network.eval()

    @property
    def _module(self) -> IntermediateFusion:
        module = self._network.intermediate
        assert module is not None
        return module

    @cached_property
    def _ego(self) -> Maps:
        return sample_feature_maps(self._module, 0)

    @cached_property
    def _all(self) -> list[Partner]:
        return [
            Partner(sample_feature_maps(self._module, number), pose)
            for number, pose in enumerate(POSES, start=1)
        ]

    @torch.no_grad()
    def _fuse_maps(self, partners: Sequence[Partner]) -> Maps:
        return self._module.fuse(self._ego, partners)

    def _check_forward(self) -> Iterator[Finding]:
        for count in COUNTS:
            self._fuse_maps(self._all[:count])
        yield from ()

    def _check_shape(self) -> Iterator[Finding]:
        needed = [(tuple(level.shape), level.dtype) for level in self._ego]
        for count in COUNTS:
            fused = self._fuse_maps(self._all[:count])
            given = [(tuple(level.shape), level.dtype) for level in fused]
            where = f"with {count} partners"
            if given != needed:
                yield Finding("shape", "failed", f"{where}: {given}; needed: {needed}")
            elif not all(bool(torch.isfinite(level).all()) for level in fused):
                yield Finding("shape", "failed", f"{where}: numbers that are not finite")

    def _check_inputs(self) -> Iterator[Finding]:
        given = [*self._ego, *(level for partner in self._all for level in partner.maps)]
        before = [level.clone() for level in given]
        self._fuse_maps(self._all)
        if not has_equal_tensors(given, before):
            yield Finding("inputs", "failed", "it writes into maps that it is given; clone them")

    def _check_determinism(self) -> Iterator[Finding]:
        first, second = self._fuse_maps(self._all), self._fuse_maps(self._all)
        if not has_equal_tensors(first, second):
            yield Finding("deterministic", "failed", "the same call again gives another output")
            return
        other = PerceptionNetwork(self._make(), LITE).eval()
        other.load_state_dict(self._network.state_dict())
        assert other.intermediate is not None
        with torch.no_grad():
            if not has_equal_tensors(first, other.intermediate.fuse(self._ego, self._all)):
                yield Finding(
                    "deterministic",
                    "failed",
                    "another instance with the same weights gives another output: all that"
                    " matters must be a setting, a parameter or a buffer",
                )

    def _check_partner_order(self) -> Iterator[Finding]:
        forward, backward = self._fuse_maps(self._all), self._fuse_maps(self._all[::-1])
        for one, other in zip(forward, backward, strict=True):
            difference = float((one - other).abs().max() / one.abs().max().clamp(min=1e-9))
            if difference > TOLERANCE:
                yield Finding(
                    "order",
                    "failed",
                    f"partners in another order change the output by {difference:.1e} of its"
                    " maximum",
                )

    def _check_partner_effect(self) -> Iterator[Finding]:
        if has_equal_tensors(self._fuse_maps(()), self._fuse_maps(self._all[:1])):
            yield Finding("partners", "failed", "the output is the same without the partner")

    def _check_pose_effect(self) -> Iterator[Finding]:
        there = Partner(self._all[0].maps, POSES[1])
        if has_equal_tensors(self._fuse_maps(self._all[:1]), self._fuse_maps([there])):
            yield Finding(
                "pose", "failed", "a partner's pose does not matter; warp its maps: self.warp"
            )

    def _check_no_partner(self) -> Iterator[Finding]:
        before = self._fuse_maps(())
        self._fuse_maps(self._all)
        if not has_equal_tensors(before, self._fuse_maps(())):
            yield Finding("no partner", "failed", "it keeps something of what partners sent before")
        elif has_equal_tensors(before, self._ego):
            yield Finding(
                "no partner", "passed", "without partners the ego's maps stay as they are"
            )

    @torch.no_grad()
    def _check_message(self) -> Iterator[Finding]:
        sent = self._network.send_maps(self._ego)
        payload = self._module.payload(tuple(level[0].numpy() for level in sent))
        shapes = [tuple(level.shape) for level in self._network.receive_maps(sent)]
        needed = [tuple(level.shape) for level in self._ego]
        if shapes != needed:
            yield Finding("message", "failed", f"receive returns {shapes}; needed: {needed}")
            return
        size, whole = payload.size_bytes, 4 * sum(level.numel() for level in self._ego)
        share = f"{100 * size / whole:.0f} % of the ego's maps"
        yield Finding("message", "passed", f"{size:,} bytes of random features: {share}")

    def _check_gradients(self) -> Iterator[Finding]:
        weights = dict(self._module.named_parameters())
        # maps of partners as leaves: do gradients reach what is sent?
        sent = [
            tuple(level.clone().requires_grad_() for level in partner.maps) for partner in self._all
        ]
        partners = [
            Partner(self._network.receive_maps(self._network.send_maps(maps)), pose)
            for maps, pose in zip(sent, POSES, strict=True)
        ]
        # a loss on all fused maps
        fused = self._module.fuse(self._ego, partners)
        torch.autograd.backward(torch.stack([(level**2).mean() for level in fused]).sum())
        if missing := [name for name, weight in weights.items() if not has_finite_gradient(weight)]:
            yield Finding("gradients", "failed", f"no gradient, or an infinite one: {missing}")
            return
        if not any(has_finite_gradient(level) for maps in sent for level in maps):
            why = "no gradient reaches what partners send: their encoder is not trained for it"
            yield Finding("gradients", "warning", why)
        count = sum(weight.numel() for weight in weights.values())
        said = f"the loss reaches all its {count:,} weights" if count else "it has no weights"
        yield Finding("gradients", "passed", said)


def findings_of(make: Callable[[], IntermediateFusion]) -> list[Finding]:
    """Return what the check of a fusion module finds."""
    make()  # what its arguments lack is bad input
    return FusionExamination(make).list_findings()


def sample_feature_maps(module: IntermediateFusion, seed: int) -> Maps:
    """Return feature maps of one agent, at random, as a lite network has them."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randn(shape, generator=generator).relu()
        for shape in list_map_shapes(module.features, module.multi_scale)
    )


def list_map_shapes(features: FeatureSpec, multi_scale: bool) -> list[tuple[int, int, int, int]]:
    """Return the shapes of an agent's maps."""
    rows, columns = features.grid.output_shape
    if not multi_scale:
        return [(1, features.channels, rows, columns)]
    return [
        (1, channels, rows >> level, columns >> level)
        for level, channels in enumerate(features.level_channels)
    ]


def has_equal_tensors(one: Sequence[Tensor], other: Sequence[Tensor]) -> bool:
    """Return whether all tensors are equal."""
    return all(torch.equal(*pair) for pair in zip(one, other, strict=True))


def has_finite_gradient(weight: Tensor) -> bool:
    """Return whether a finite gradient reached a tensor."""
    gradient = weight.grad
    return gradient is not None and bool(torch.isfinite(gradient).all() and gradient.any())
