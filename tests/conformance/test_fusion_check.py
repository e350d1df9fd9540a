"""The check of fusion modules: shipped ones pass it, and each mistake fails where it is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor, nn

from agents.conformance.fusion_check import CHECKS, FusionExamination
from agents.perception.fusion import FeatureSpec, IntermediateFusion, Partner
from agents.perception.fusion.base import Maps
from agents.perception.fusion.catalogue import INTERMEDIATE
from crucible.check import main


class Mean(IntermediateFusion):
    """The mean of all agents, with a weight for each channel."""

    def build(self, features: FeatureSpec) -> None:
        self.scale = nn.Parameter(torch.ones(features.channels, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(0, keepdim=True) * self.scale


class Narrow(Mean):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)[..., 1:]


class Infinite(Mean):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) / 0.0


class TwoAtMost(Mean):
    def forward(self, x: Tensor) -> Tensor:
        assert len(x) < 4, "too many agents"
        return super().forward(x)


class InPlace(Mean):
    def fuse(self, ego: Maps, partners: Sequence[Partner]) -> Maps:
        fused = super().fuse(ego, partners)
        ego[0].mul_(0.5)
        return fused


class Noisy(Mean):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + torch.rand(1)


class Hidden(Mean):
    """Something random that is neither a parameter nor a buffer."""

    def build(self, features: FeatureSpec) -> None:
        super().build(features)
        self.secret = float(torch.rand(1))

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + self.secret


class FirstCountsTwice(Mean):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(torch.cat([x, x[1:2]]))


class Deaf(Mean):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x[:1])


class NotWarped(Mean):
    def fuse(self, ego: Maps, partners: Sequence[Partner]) -> Maps:
        return (self(torch.cat([ego[0], *(partner.maps[0] for partner in partners)])),)


class Remembers(Mean):
    memory: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        if len(x) > 4:
            self.memory = x.mean(0, keepdim=True)
        fused = super().forward(x)
        return fused if len(x) > 1 or self.memory is None else fused + self.memory


class Lossy(Mean):
    def send(self, maps: Maps, logits: Callable[[], Tensor]) -> Maps:
        return tuple(level[:, ::2] for level in maps)


class Halved(Lossy):
    """What `Lossy` sends, restored: zeros for the channels that were left out."""

    def receive(self, maps: Maps) -> Maps:
        return tuple(
            torch.stack([level, torch.zeros_like(level)], 2).flatten(1, 2) for level in maps
        )


class Unused(Mean):
    def build(self, features: FeatureSpec) -> None:
        super().build(features)
        self.forgotten = nn.Conv2d(3, 3, 1)


class Detached(Mean):
    def fuse(self, ego: Maps, partners: Sequence[Partner]) -> Maps:
        cut = [Partner((partner.maps[0].detach(),), partner.in_ego) for partner in partners]
        return super().fuse(ego, cut)


def verdicts(make: type[IntermediateFusion]) -> dict[str, str]:
    return {finding.check: finding.verdict for finding in FusionExamination(make).list_findings()}


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", INTERMEDIATE)
def test_shipped_modules_pass(scheme: str) -> None:
    assert verdicts(INTERMEDIATE[scheme]) == dict.fromkeys(CHECKS, "passed")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("module", "check"),
    [
        (IntermediateFusion, "forward"),
        (TwoAtMost, "forward"),
        (Narrow, "shape"),
        (Infinite, "shape"),
        (InPlace, "inputs"),
        (Noisy, "deterministic"),
        (Hidden, "deterministic"),
        (FirstCountsTwice, "order"),
        (Deaf, "partners"),
        (NotWarped, "pose"),
        (Remembers, "no partner"),
        (Lossy, "message"),
        (Unused, "gradients"),
    ],
)
def test_a_mistake_fails_its_check(module: type[IntermediateFusion], check: str) -> None:
    failed = [name for name, verdict in verdicts(module).items() if verdict == "failed"]
    assert failed[0] == check


def test_an_encoder_that_messages_do_not_train_is_a_warning() -> None:
    findings = FusionExamination(Detached).list_findings()
    assert [finding.check for finding in findings if finding.verdict == "warning"] == ["gradients"]
    assert "failed" not in {finding.verdict for finding in findings}


def test_the_size_of_messages_is_reported() -> None:
    (message,) = (
        finding
        for finding in FusionExamination(Halved).list_findings()
        if finding.check == "message"
    )
    assert message.verdict == "passed"
    assert message.sentence.startswith(f"{4 * 8 * 96 * 128:,} bytes")
    assert "50 % of the ego's maps" in message.sentence


@pytest.mark.thorough
def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    name = "agents.perception.fusion.codriving:CoDriving"
    assert main([name, "confidence=0.5"]) == 0
    assert "fusion module" in capsys.readouterr().out
    assert main(["tests.conformance.test_fusion_check:Deaf"]) == 1
    assert "the output is the same without the partner" in " ".join(
        capsys.readouterr().out.replace("│", " ").split()
    )
    assert main([name, "confidence=2"]) == 2
    assert "fusion.confidence = 2: must be between 0 and 1" in capsys.readouterr().err
