"""Samples: of all strata, larger ones with all of smaller ones, the same for one seed."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from crucible.verification.agreement import (
    CLEAN,
    ComparedEnding,
    EndingAgreement,
    compute_ending_agreement,
    format_agreement_share,
)
from crucible.verification.comparing import LEAST_ALIKE, check_ending_agreement
from crucible.verification.machine import (
    MachinePlatform,
    detect_machine,
    is_same_intel_platform,
    list_machine_differences,
)
from crucible.verification.recomputed import compute_penalty, select_until_violation
from crucible.verification.sampling import LEAST_SHARE, sample_attempts, split_sample_size
from harness.evaluation.scoring import Coefficients
from harness.records.packing.parts import PackedAttempt, PackedCampaign, PackedPart
from tests.keys import key_of

COUNTS = st.integers(0, 60)


def campaign_of(name: str, without: int, with_network: int) -> PackedCampaign:
    """Return a campaign of so many attempts of either kind."""
    inputs = {"system": {"late": {"late.safetensors": "0123"}}}
    header = yaml.safe_dump({"settings": {"system": {}, "inputs": inputs}})
    campaign = PackedCampaign(name=name, header=header)
    nowhere = PackedPart(Path("nowhere"), pa.table({}))
    for system, count in (("ideal_late", without), ("late", with_network)):
        for seed in range(count):
            key = key_of(system, "none", "0", seed)
            attempt = PackedAttempt(
                key=key, number=1, result="{}", records="", timing=None, part=nowhere, row=0
            )
            campaign.attempts.append(attempt)
    return campaign


@given(COUNTS, COUNTS, COUNTS)
def test_no_stratum_is_asked_for_more_than_it_has(count: int, without: int, network: int) -> None:
    plain, others = split_sample_size(count, without, network)
    assert plain + others == min(count, without + network)
    assert 0 <= plain <= without
    assert 0 <= others <= network
    if without + network >= count:
        assert plain >= min(without, math.ceil(LEAST_SHARE * count))


@given(st.integers(1, 40), COUNTS, COUNTS, st.integers(0, 3))
def test_a_sample_is_of_both_kinds_and_part_of_a_larger_one(
    count: int, without: int, network: int, seed: int
) -> None:
    campaigns = {"a": campaign_of("a", without, network), "b": campaign_of("b", 3, 2)}
    chosen = keys_in(campaigns, count, seed)
    assert chosen == keys_in(campaigns, count, seed)
    assert len(chosen) == min(count, without + network + 5)
    assert any(":ideal_late/" in name for name in chosen)
    assert chosen <= keys_in(campaigns, count + 7, seed)


def keys_in(campaigns: dict[str, PackedCampaign], count: int, seed: int) -> set[str]:
    return {
        f"{name}:{attempt.key}"
        for name, attempts in sample_attempts(campaigns, count, seed).items()
        for attempt in attempts
    }


def test_seeds_give_other_samples() -> None:
    campaigns = {"a": campaign_of("a", 50, 50)}
    assert keys_in(campaigns, 10, 1) != keys_in(campaigns, 10, 2)


def test_machines_are_alike_only_in_everything_that_matters() -> None:
    here = detect_machine()
    assert list_machine_differences(here, here) == ([] if here.lock else ["lock unknown"])
    known = MachinePlatform(
        machine="x86_64", vendor="A", family="6", model="1", name="Fast", features=("avx2",),
        python="3.11.7", versions={"numpy": "2.0"}, lock="12", choices={},
    )  # fmt: skip
    record = {**json.loads(json.dumps(known.to_record())), "features": known.features}
    assert not list_machine_differences(known, MachinePlatform(**{**record, "name": "Faster"}))
    for name, other, same in (
        ("vendor", "B", True), ("family", "7", True), ("model", "2", True),
        ("features", ("avx",), True), ("lock", "13", True), ("python", "3.11.8", True),
        ("python", "3.12.0", False), ("machine", "aarch64", False),
        ("versions", {"numpy": "2.1"}, False), ("choices", {"OPENBLAS_CORETYPE": "Zen"}, True),
    ):  # fmt: skip
        changed = MachinePlatform(**{**record, name: other})
        assert list_machine_differences(known, changed), name
        assert is_same_intel_platform(known, changed) is same, name


ENDINGS = st.builds(
    ComparedEnding,
    st.sampled_from([CLEAN, "blocked", "collision_vehicle"]),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([0.0, 50.0]),
)


@given(st.lists(st.tuples(ENDINGS, ENDINGS), max_size=20))
def test_agreement_counts_pairs(pairs: list[tuple[ComparedEnding, ComparedEnding]]) -> None:
    agreement = compute_ending_agreement(pairs)
    assert agreement.n == len(pairs)
    assert agreement.alike == len([0 for one, other in pairs if one == other])
    assert agreement.equal["frame"] == len([0 for one, other in pairs if one.frame == other.frame])
    clean = [(one.kind == CLEAN) == (other.kind == CLEAN) for one, other in pairs]
    assert agreement.equal["outcome"] == sum(clean)
    assert EndingAgreement.from_record(json.loads(json.dumps(agreement.to_record()))) == agreement


def test_a_share_has_its_exact_interval() -> None:
    pairs = [(ComparedEnding(CLEAN, None, 1.0), ComparedEnding(CLEAN, None, 1.0))] * 10
    assert (
        format_agreement_share(compute_ending_agreement(pairs), "kind")
        == "10 of 10, 100.0 %\n69.2 to 100.0"
    )
    assert (
        format_agreement_share(compute_ending_agreement([]), "kind")
        == format_agreement_share(None, "kind")
        == "-"
    )


@pytest.mark.parametrize(
    ("alike", "n", "surely"), [(20, 20, 0), (17, 20, 0), (12, 20, 1), (0, 1, 0)]
)
def test_few_that_end_alike_are_a_change_when_chance_does_not_explain_them(
    alike: int, n: int, surely: int
) -> None:
    same, other = ComparedEnding(CLEAN, None, 1.0), ComparedEnding("blocked", 3, 0.5)
    pairs = [(same, same)] * alike + [(same, other)] * (n - alike)
    assert len(list(check_ending_agreement(compute_ending_agreement(pairs)))) == surely
    assert not list(check_ending_agreement(None))
    assert LEAST_ALIKE == 0.9


def test_penalties_end_with_the_first_violation() -> None:
    kinds = ["red_light", "stop_sign", "collision_vehicle", "red_light"]
    assert select_until_violation(kinds) == kinds[:3]
    assert select_until_violation(["red_light"]) == ["red_light"]
    assert compute_penalty(kinds[:3], Coefficients(), 0.25) == pytest.approx(0.7 * 0.8 * 0.6 * 0.75)
    flat = Coefficients(outside="flat")
    assert compute_penalty(["off_road"], flat, 0.25) == pytest.approx(0.8)
