"""What a guide gains over random choice, and over the same guide where no test is harder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from analysis.statistics.intervals import compute_expanded_percentiles, sample_bootstrap_weights
from harness.types.vocabulary import Floats, Integers
from studies.metamorphic.guiding.guides import (
    GUIDES,
    CandidateFacts,
    choose_candidate_sets,
    choose_candidates,
)
from studies.metamorphic.guiding.null_world import (
    NullOutcome,
    UsersAtRisk,
    sample_null_worlds,
    sum_by_group,
)

NULL_WORLDS = 100
NULL_LEVEL = (0.025, 0.975)
"""Percentiles of the worlds, as shares."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GuideTests:
    """Tests of one system and the errors of one check in them; a row for each test."""

    check: str
    facts: CandidateFacts
    clusters: Integers  # numbers of scenarios, from 0 on
    errors: Floats
    exposed: Floats

    @property
    def rate(self) -> float:
        """Return errors per exposed road user of all tests."""
        total = self.exposed.sum()
        return float(self.errors.sum() / total) if total else math.nan


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KeptSums:
    """Errors and exposed road users in what a guide keeps, and in all tests.

    The last axis of each array is scenarios, until they are added up.
    """

    kept_errors: Floats
    kept_exposed: Floats
    errors: Floats
    exposed: Floats

    @classmethod
    def of_rows(cls, tests: GuideTests, errors: Floats, rows: Integers) -> KeptSums:
        """Return the sums of each scenario.

        Args:
            tests: all of them.
            errors: (tests,) in the study or in a world.
            rows: of those that are kept.
        """
        count = int(tests.clusters.max(initial=-1)) + 1
        kept = tests.clusters[rows]
        return cls(
            kept_errors=sum_by_group(kept, errors[rows], count),
            kept_exposed=sum_by_group(kept, tests.exposed[rows], count),
            errors=sum_by_group(tests.clusters, errors, count),
            exposed=sum_by_group(tests.clusters, tests.exposed, count),
        )

    @classmethod
    def stack(cls, parts: Sequence[KeptSums]) -> KeptSums:
        """Return sums with an axis more: sets or worlds."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: np.stack([getattr(part, name) for part in parts]) for name in names})

    def average(self) -> KeptSums:
        """Return means over the first axis."""
        return KeptSums(
            kept_errors=self.kept_errors.mean(axis=0),
            kept_exposed=self.kept_exposed.mean(axis=0),
            errors=self.errors.mean(axis=0),
            exposed=self.exposed.mean(axis=0),
        )

    def add_scenarios(self, weights: Floats | None = None) -> KeptSums:
        """Return sums over scenarios, each as often as it is in a resample.

        Args:
            weights: (scenarios, resamples); None: each once.
        """
        count = self.errors.shape[-1]
        of = np.ones(count) if weights is None else weights
        return KeptSums(
            kept_errors=self.kept_errors @ of,
            kept_exposed=self.kept_exposed @ of,
            errors=self.errors @ of,
            exposed=self.exposed @ of,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldSpread:
    """A multiple over worlds: its mean, and where 95 % of the worlds lie."""

    mean: float
    low: float
    high: float

    @classmethod
    def of_worlds(cls, values: Floats, mean: Floats) -> WorldSpread:
        """Return the spread of one number for each world, with the multiple of mean sums."""
        low, high = np.quantile(values[np.isfinite(values)], NULL_LEVEL)
        return cls(mean=float(mean), low=float(low), high=float(high))


@dataclass(frozen=True, slots=True, kw_only=True)
class NullGain:
    """The multiples that a guide shows where no test is harder than another."""

    rate: WorldSpread
    count: WorldSpread


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideJudgement:
    """What a guide found, and what of it goes beyond the null.

    The gain and its interval are NaN where the records do not have what the null of the guide
    takes.
    """

    kept: int  # tests
    errors: float  # in them, mean over sets
    exposed: float
    count: float  # errors, as a multiple of those in as many random tests
    rate: float  # errors per exposed road user, as a multiple of the rate of all tests
    null: NullGain | None
    gain: float
    low: float
    high: float


def compute_rate_multiple(sums: KeptSums) -> Floats:
    """Return the rate of errors in what is kept, as a multiple of the rate of all tests."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((sums.kept_errors / sums.kept_exposed) / (sums.errors / sums.exposed))


def has_multiples(sums: KeptSums) -> bool:
    """Return whether any world has errors, and exposed road users in what is kept."""
    return bool(np.isfinite(compute_rate_multiple(sums.add_scenarios())).any())


def compute_count_multiple(sums: KeptSums, share: float) -> Floats:
    """Return the number of errors in what is kept, as a multiple of that of random tests."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums.kept_errors / (share * sums.errors))


def compute_gain_over_null(observed: KeptSums, null: KeptSums) -> Floats:
    """Return the statistic by which guides are compared: 1 where no test is harder than another.

    Observed is the rate of errors in what a guide keeps, as a multiple of the rate of all tests.
    The null is the same multiple for the same guide, with the same tests, exposed road users, share
    and overall rate, where every road user is lost with one probability.

    Reasons (decision 0091). A count rises with crowded scenes, so it is no measure. A rate per
    exposed road user is one for guides that read no outcome: it is 1 at the null. A guide that
    reads the outcome keeps tests in which many were lost by luck, and its rate is a multiple at the
    null, the more so the rarer losses are and the fewer road users a test has. Only what goes
    beyond that multiple is a property of the tests. It is a quotient and no difference, because
    both sides are quotients by the rate of all tests.

    Args:
        observed: sums of the study.
        null: means of the same sums over worlds.
    """
    return np.asarray(compute_rate_multiple(observed) / compute_rate_multiple(null))


def judge_guides(
    names: Sequence[str],
    tests: GuideTests,
    users: UsersAtRisk,
    *,
    share: float,
    worlds: int = NULL_WORLDS,
) -> dict[str, GuideJudgement]:
    """Return what guides gain over random choice and over the null.

    Args:
        names: of `GUIDES`.
        tests: with the outcomes of the judged network.
        users: of the same tests.
        share: of tests that are kept, 0 to 1.
        worlds: of the null.
    """
    null = NullSampling(share=share, worlds=worlds)
    at_null = null.sample_sums(names, [tests], users, tests.rate)
    return {
        name: judge_guide(name, tests, at_null.get((name, tests.check)), share=share)
        for name in names
    }


def judge_guide(
    name: str, tests: GuideTests, null: KeptSums | None, *, share: float
) -> GuideJudgement:
    """Return what one guide gains.

    Args:
        name: of `GUIDES`.
        tests: with the outcomes of the judged network.
        null: (worlds, scenarios) sums; None: not known.
        share: of tests that are kept, 0 to 1.
    """
    sets = choose_candidate_sets(GUIDES[name], tests.facts, share)
    by_set = [KeptSums.of_rows(tests, tests.errors, rows) for rows in sets]
    observed = KeptSums.stack(by_set).average()
    total = observed.add_scenarios()
    kept_share = len(sets[0]) / len(tests.errors)
    gain = low = high = math.nan
    if null is not None:
        expected = null.average()
        gain = float(compute_gain_over_null(total, expected.add_scenarios()))
        low, high = widen_to_worlds(
            resample_gain(observed, expected), gain, compute_rate_multiple(null.add_scenarios())
        )
    return GuideJudgement(
        kept=len(sets[0]),
        errors=float(total.kept_errors),
        exposed=float(total.kept_exposed),
        count=float(compute_count_multiple(total, kept_share)),
        rate=float(compute_rate_multiple(total)),
        null=None if null is None else measure_null_gain(null, kept_share),
        gain=gain,
        low=low,
        high=high,
    )


def widen_to_worlds(
    interval: tuple[float, float], gain: float, worlds: Floats
) -> tuple[float, float]:
    """Return the interval, at least as wide as the null is: it has 1 if 95 % of the worlds do.

    Resampled scenarios alone are too narrow where few errors are kept: of forty studies without
    weakness, 30 intervals had 1.

    Args:
        interval: over scenarios.
        gain: over the null.
        worlds: (worlds,) rate multiples at the null.
    """
    worlds = worlds[np.isfinite(worlds)]
    least, most = np.quantile(worlds, NULL_LEVEL) / worlds.mean()
    low = min(interval[0], gain / most) if most > 0 else interval[0]
    high = max(interval[1], gain / least) if least > 0 else math.inf
    return float(low), float(high)


def measure_null_gain(null: KeptSums, share: float) -> NullGain:
    """Return the multiples of a guide at the null, over worlds.

    Args:
        null: (worlds, scenarios) sums.
        share: of tests that are kept, 0 to 1.
    """
    worlds, mean = null.add_scenarios(), null.average().add_scenarios()
    return NullGain(
        rate=WorldSpread.of_worlds(compute_rate_multiple(worlds), compute_rate_multiple(mean)),
        count=WorldSpread.of_worlds(
            compute_count_multiple(worlds, share), compute_count_multiple(mean, share)
        ),
    )


def resample_gain(observed: KeptSums, expected: KeptSums) -> tuple[float, float]:
    """Return the 95 % interval of the gain over the null, over scenarios.

    Resampled are the scenarios with what was kept of them; NaN for fewer than two scenarios.

    Args:
        observed: (scenarios,) sums of the study.
        expected: (scenarios,) means over worlds.
    """
    count = len(observed.errors)
    if count < 2:
        return math.nan, math.nan
    weights = sample_bootstrap_weights(count).T
    gains = compute_gain_over_null(observed.add_scenarios(weights), expected.add_scenarios(weights))
    gains = gains[np.isfinite(gains)]
    if not len(gains):
        return math.nan, math.nan
    low, high = np.quantile(gains, compute_expanded_percentiles(count))
    return float(low), float(high)


@dataclass(frozen=True, slots=True, kw_only=True)
class NullSampling:
    """Worlds without weakness: how many, and what is kept in each."""

    share: float  # of tests, 0 to 1
    worlds: int = NULL_WORLDS
    seed: int = 0

    def sample_sums(
        self, names: Sequence[str], checks: Sequence[GuideTests], users: UsersAtRisk, rate: float
    ) -> Mapping[tuple[str, str], KeptSums]:
        """Return the sums of what guides keep in worlds without weakness.

        Left out are guides that read the outcome, where it is not known which road users are
        exposed, and those that never keep an exposed one.

        Args:
            names: of `GUIDES`.
            checks: the same tests with one check each; their errors are not used.
            users: of the same tests.
            rate: probability of a loss; 0 or NaN: nothing is sampled.

        Returns:
            By guide and check, sums of (worlds, scenarios).
        """
        if not rate > 0:
            return {}
        facts = checks[0].facts.hide_outcomes()
        # what is chosen without outcomes is the same in all worlds
        fixed = {
            name: choose_candidate_sets(GUIDES[name], facts, self.share)
            for name in names
            if not GUIDES[name].circular
        }
        joint = any(tests.check in users.joint for tests in checks)
        known = [name for name in names if name in fixed or (joint and name in users.scores)]
        sums: dict[tuple[str, str], list[KeptSums]] = {}
        worlds = sample_null_worlds(users, rate, worlds=self.worlds, seed=self.seed)
        for number, world in enumerate(worlds):
            for name in known:
                if name in fixed:
                    rows = fixed[name][number % len(fixed[name])]
                else:
                    rows = self.choose_in_world(name, facts, world)
                for tests in checks:
                    if name in fixed or tests.check in users.joint:
                        part = KeptSums.of_rows(tests, world.count_errors(tests.check), rows)
                        sums.setdefault((name, tests.check), []).append(part)
        stacked = {key: KeptSums.stack(parts) for key, parts in sums.items()}
        return {key: parts for key, parts in stacked.items() if has_multiples(parts)}

    def choose_in_world(self, name: str, facts: CandidateFacts, world: NullOutcome) -> Integers:
        """Return what a guide keeps by the answers of the synthetic judge."""
        return choose_candidates(GUIDES[name], replace(facts, outcomes=world.scores), self.share)
