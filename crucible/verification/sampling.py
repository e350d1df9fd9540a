"""Which attempts are driven again: at random, with a fixed share of systems without networks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from harness.common.randomness import make_named_stream
from harness.records.arms import PARTNER_FLEET, SAME_SYSTEM, Arm
from harness.records.packing.parts import PackedAttempt, PackedCampaign

LEAST_SHARE = 0.25
"""Of a sample, by attempts of systems without networks, if there are so many."""


def find_network_systems(settings: Mapping[str, object]) -> set[str]:
    """Return the systems that read files; all of them where the settings do not say."""
    inputs, systems = settings.get("inputs"), settings.get("system")
    known = inputs.get("system") if isinstance(inputs, dict) else None
    everything = systems if isinstance(systems, dict) else {}
    return set(known if isinstance(known, dict) else everything)


def has_network(settings: Mapping[str, object], arm: Arm) -> bool:
    """Return whether the ego of an arm reads files, or its partners that use other systems."""
    inputs = settings.get("inputs")
    of_partners = isinstance(inputs, dict) and bool(inputs.get(PARTNER_FLEET))
    mixed = arm[PARTNER_FLEET] != SAME_SYSTEM
    return arm.system in find_network_systems(settings) or (mixed and of_partners)


def sample_attempts(
    campaigns: Mapping[str, PackedCampaign], count: int, seed: int
) -> dict[str, list[PackedAttempt]]:
    """Return attempts by campaign, as many of each stratum as its share of all attempts, at random.

    Systems without networks get at least a quarter of the sample, since only they are to repeat
    on other processors. With one seed a larger sample has all attempts of a smaller one. Twins are
    attempts as others are: their campaign's settings have their conditions.
    """
    strata: dict[bool, list[tuple[str, PackedAttempt]]] = {False: [], True: []}
    for name, campaign in sorted(campaigns.items()):
        for attempt in sorted(campaign.attempts, key=lambda attempt: attempt.key):
            strata[has_network(campaign.settings, attempt.key.arm)].append((name, attempt))
    chosen: dict[str, list[PackedAttempt]] = {}
    sizes = split_sample_size(count, len(strata[False]), len(strata[True]))
    for network, size in zip((False, True), sizes, strict=True):
        for name, attempt in shuffle_attempts(strata[network], seed, str(network))[:size]:
            chosen.setdefault(name, []).append(attempt)
    return dict(sorted(chosen.items()))


def split_sample_size(count: int, without: int, with_network: int) -> tuple[int, int]:
    """Return how many of a sample are of systems without networks, and with."""
    count = min(count, without + with_network)
    share = without / (without + with_network) if count else 0.0
    least = max(math.ceil(count * max(share, LEAST_SHARE)), count - with_network)
    plain = min(least, without)
    return plain, count - plain


def shuffle_attempts(
    attempts: Sequence[tuple[str, PackedAttempt]], seed: int, stratum: str
) -> list[tuple[str, PackedAttempt]]:
    """Return attempts in a random order."""
    order = make_named_stream(seed, "verify", stratum).permutation(len(attempts))
    return [attempts[place] for place in order.tolist()]
