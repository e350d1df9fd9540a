"""Thresholds from placebos: their definition, what they refuse, and how often they are wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from harness.common.errors import UserError
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats
from studies.metamorphic.judging.bands import (
    apply_benjamini_hochberg,
    compute_expected_findings,
    find_cluster_maxima,
    fit_band,
)
from tests.studies.metamorphic.made_boxes import SEEDS

VALUES = st.lists(st.floats(-5, 5, allow_subnormal=False), min_size=19, max_size=60)


def names(count: int, prefix: str = "c") -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def interval(hits: int, trials: int, level: float = 1e-4) -> tuple[float, float]:
    """Return the exact binomial interval (Clopper-Pearson)."""
    low = beta.ppf(level / 2, hits, trials - hits + 1) if hits else 0.0
    high = beta.ppf(1 - level / 2, hits + 1, trials - hits) if hits < trials else 1.0
    return float(low), float(high)


@given(values=VALUES, tested=st.lists(st.floats(-6, 6), max_size=8))
def test_threshold_and_p_values_are_their_definitions(
    values: list[float], tested: list[float]
) -> None:
    """The ceil((n + 1)(1 - level))-th smallest; p = (1 + number of placebos >= v) / (n + 1)."""
    n, level = len(values), 0.05
    band = fit_band(np.array(values), names(n), level)
    rank = next(k for k in range(1, n + 1) if 20 * k >= 19 * (n + 1))
    assert band.threshold == sorted(values)[rank - 1]
    findings = band.select_findings(np.array(tested), names(len(tested), "t")).tolist()
    for value, p, finding in zip(
        tested, band.compute_p_values(np.array(tested)), findings, strict=True
    ):
        at_least = sum(1 for placebo in values if placebo >= value)
        assert p == pytest.approx((1 + at_least) / (n + 1))
        assert finding == (value > band.threshold) == (p <= level + 1e-12)


@given(seed=SEEDS)
def test_every_cluster_gives_its_largest_value(seed: int) -> None:
    random = make_named_stream(seed)
    clusters = [f"c{number}" for number in random.integers(8, size=30)]
    values = random.normal(size=30)
    kinds, largest = find_cluster_maxima(values, clusters)
    assert kinds == list(dict.fromkeys(clusters))
    for name, value in zip(kinds, largest.tolist(), strict=True):
        assert value == max(v for v, c in zip(values.tolist(), clusters, strict=True) if c == name)


@pytest.mark.parametrize(("level", "least"), [(0.05, 19), (0.1, 9), (0.01, 99), (0.005, 199)])
def test_too_few_clusters_are_refused(level: float, least: int) -> None:
    """n >= 1/level - 1; scenes of one cluster do not count for more."""
    values = np.arange(float(least))
    assert fit_band(values, names(least), level).threshold == least - 1
    with pytest.raises(UserError, match=rf"{least - 1} clusters .* needs {least} or more"):
        fit_band(values[1:], names(least - 1), level)
    with pytest.raises(UserError, match=r"1 clusters"):
        fit_band(values, ["one"] * least, level)


def test_impossible_levels_and_values_are_refused() -> None:
    for level in (0.0, 1.0, -0.1):
        with pytest.raises(UserError, match="level = "):
            fit_band(np.arange(50.0), names(50), level)
    with pytest.raises(ValueError, match="no number"):
        fit_band(np.array([math.nan] * 20), names(20))
    with pytest.raises(ValueError, match="20 values of 19 clusters"):
        fit_band(np.arange(20.0), names(19))


CLUSTERS = 39
TRIALS = 4000


def null_data(random: np.random.Generator, clusters: int) -> tuple[Floats, list[str]]:
    """Return values of scenes without any effect: those of a cluster share most of their noise.

    Skewed, with ties at 0, and clusters of 1 to 6 scenes: as rates of lost boxes are.
    """
    sizes = random.integers(1, 7, size=clusters)
    shared = np.repeat(random.gamma(1.0, 0.05, clusters), sizes)
    values = np.maximum(shared + random.normal(0.0, 0.02, sizes.sum()) - 0.02, 0.0)
    return values, [f"{n}" for n, size in enumerate(sizes.tolist()) for _ in range(size)]


def false_findings(by_cluster: bool) -> int:
    """Return how many of TRIALS new clusters without effect have a scene above the threshold."""
    random = make_named_stream(11, "null")
    wrong = 0
    for _ in range(TRIALS):
        values, clusters = null_data(random, CLUSTERS)
        calibrating = clusters if by_cluster else names(len(values))
        band = fit_band(values, calibrating, 0.05)
        tested, _ = null_data(random, 1)
        wrong += bool(band.select_findings(tested, ["tested"] * len(tested)).any())
    return wrong


@pytest.mark.thorough
def test_placebos_by_cluster_keep_the_level() -> None:
    """N = 4000 bands of 39 clusters, 0.05: found 0.048, exact interval (99.99 %) 0.036 to 0.063."""
    low, high = interval(false_findings(by_cluster=True), TRIALS)
    assert low <= 0.05
    assert high < 0.07


@pytest.mark.thorough
def test_placebos_by_scene_do_not_keep_the_level() -> None:
    """The mutant that takes scenes of one cluster for independent is wrong more often."""
    low, _ = interval(false_findings(by_cluster=False), TRIALS)
    assert low > 0.05


def test_a_threshold_fitted_on_tested_data_is_refused() -> None:
    values, clusters = null_data(make_named_stream(3), CLUSTERS)
    band = fit_band(values, clusters)
    with pytest.raises(UserError, match="both in the placebos and in what is judged"):
        band.select_findings(values[-1:], clusters[-1:])


def test_a_threshold_fitted_on_tested_data_would_find_nothing() -> None:
    """The mutant: of an effect in every cluster, at most the level is left to be found."""
    random = make_named_stream(5)
    placebos, clusters = null_data(random, CLUSTERS)
    affected = null_data(random, CLUSTERS)[0] + 0.5
    _, ours = find_cluster_maxima(affected, names(len(affected), "t"))
    honest = fit_band(placebos, clusters)
    fitted = fit_band(affected, names(len(affected), "t"))
    assert honest.select_findings(ours, names(len(ours), "t")).mean() > 0.9
    assert fitted.select_findings(ours, names(len(ours), "other")).mean() <= 0.05


def slowly_rejected(p_values: list[float], level: float) -> list[bool]:
    """Benjamini, Hochberg (1995): reject the k smallest, k the largest with p_k <= k/m level."""
    count = len(p_values)
    ordered = sorted(p_values)
    most = max((k for k in range(1, count + 1) if ordered[k - 1] <= level * k / count), default=0)
    return [most > 0 and p <= ordered[most - 1] for p in p_values]


@given(p_values=st.lists(st.floats(0, 1), max_size=30), level=st.sampled_from([0.05, 0.2]))
def test_benjamini_hochberg_is_its_definition(p_values: list[float], level: float) -> None:
    rejected = apply_benjamini_hochberg(np.array(p_values), level)
    assert rejected.tolist() == slowly_rejected(p_values, level)


def test_false_discoveries_keep_their_rate_with_shared_placebos() -> None:
    """600 studies, 60 tests each on the same 199 placebos, 20 of them with an effect."""
    random = make_named_stream(17, "discoveries")
    shares = []
    for _ in range(600):
        band = fit_band(random.gamma(1.0, 1.0, 199), names(199))
        effect = np.arange(60) < 20
        values = random.gamma(1.0, 1.0, 60) + 8.0 * effect
        rejected = apply_benjamini_hochberg(band.compute_p_values(values), 0.1)
        shares.append((rejected & ~effect).sum() / max(rejected.sum(), 1))
    error = np.std(shares) / math.sqrt(len(shares))
    assert np.mean(shares) <= 0.1 + 4 * error
    assert np.mean(shares) > 0.02


def test_expected_false_findings() -> None:
    assert compute_expected_findings(120, 0.05) == pytest.approx(6.0)
    assert apply_benjamini_hochberg(np.zeros(0)).tolist() == []
