"""Risk sets: who passed where, what was seen there, and what cannot be compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis.collection import CampaignCollection
from analysis.regression.by_condition import build_risk_set_checks
from analysis.regression.matched import build_matched_design, fit_matched_jackknife
from analysis.regression.risk_sets import (
    ALONE_THERE,
    SHORTEST,
    RouteTrack,
    build_risk_sets,
    build_route_track,
    find_stretch_start,
    iterate_tracks,
)
from analysis.regression.sample import NoFitError
from analysis.simulation.campaigns import CampaignScenario, simulate_drives
from harness.types.vocabulary import Floats


def track(
    speed: float, end: float, violated: bool, route: str = "a", standing: float = 0.0
) -> RouteTrack:
    """A drive at one speed, perhaps standing at its end; one error a step, two true boxes."""
    times = np.arange(0.0, 60.0, 0.2)
    stations = np.minimum(times, end - standing) * speed
    counts: Floats = np.zeros((len(times), 6))
    counts[:, 0] = stations
    steps = (times, stations, counts, np.full(len(times), 2.0))
    return build_route_track(route, "late", steps=steps, end=end, violated=violated)


def test_all_arms_are_compared_over_the_violators_last_ten_seconds_of_road() -> None:
    violator, slower, short = track(5, 20, True), track(2.5, 50, False), track(5, 15, False)
    passed = build_risk_sets([violator, slower, short], {})
    assert passed.sample.y.tolist() == [1, 0]
    begin, end = 50.0, 100.0
    for row, part in enumerate((violator, slower)):
        steps = (part.reached > begin + 1e-9) & (part.reached <= end + 1e-9)
        assert passed.sample.exposure[row] == 2 * steps.sum()
        assert passed.sample.counts[row, 0] == pytest.approx(part.reached[steps].sum())


def test_a_violator_that_stood_is_looked_at_over_some_road() -> None:
    stood = track(5, 40, True, standing=15)
    assert find_stretch_start(stood) == stood.reached[-1] - SHORTEST
    assert find_stretch_start(track(5, 6, True)) == -np.inf


def test_who_violated_before_is_not_at_risk_and_who_was_alone_is_dropped() -> None:
    early, late = track(5, 12, True), track(5, 18, True)
    passed = build_risk_sets([early, late, track(5, 14, True, route="b")], {})
    assert passed.sample.y.tolist() == [1, 0]
    assert passed.sample.dropped == {ALONE_THERE: 2}
    result = build_risk_set_checks(passed, None).set_index("check")["result"]
    assert result["risk sets"] == "1 violation, each with 2.0 drives"
    with pytest.raises(NoFitError, match="lie on 1 route:"):
        build_matched_design(passed)


@pytest.mark.parametrize(
    ("tracks", "words"),
    [
        ([], "no drive of a system that messages can affect"),
        ([track(5, 20, False)], "no violation in 1 drive of late"),
        ([track(5, 12, False), track(5, 20, False)], "no violation in 2 drives of late"),
        (
            [track(5, 20, True), track(5, 15, False)],
            "in 2 drives of late, no violation happened where another of these drives passed",
        ),
        (
            [
                replace(drive, truths=np.zeros_like(drive.truths))
                for drive in (track(5, 20, True), track(5, 30, False))
            ],
            "in 2 drives of late, no violation happened where another of these drives passed a"
            " ground-truth box",
        ),
    ],
)
def test_nothing_to_compare_is_said_in_words(tracks: list[RouteTrack], words: str) -> None:
    """Of each odd campaign the sentence says what was missing, and of which drives."""
    passed = build_risk_sets(tracks, {})
    with pytest.raises(NoFitError) as refused:
        build_matched_design(passed)
    assert str(refused.value) == words
    checks = build_risk_set_checks(passed, None).set_index("check")["result"]
    assert checks["systems"] == ("late" if tracks else "none")


@pytest.mark.thorough
def test_every_violation_that_others_passed_is_one_risk_set(collection: CampaignCollection) -> None:
    rows = np.flatnonzero(collection.attempts["condition"] == "none")
    tracks = list(iterate_tracks(collection, rows, {"alone": "for no reason"}))
    part = collection.attempts.iloc[rows]
    part = part[part["system"] != "alone"]
    assert len(tracks) == len(part)
    passed = build_risk_sets(tracks, {})
    violations = int(part["violated"].sum())
    assert passed.sample.y.sum() == violations - passed.sample.dropped.get(ALONE_THERE, 0)
    assert (np.bincount(passed.sets) >= 2).all()
    assert (np.bincount(passed.sets, passed.sample.y) == 1).all()


def test_jackknife_is_refitting_without_the_sets_of_one_route_at_a_time() -> None:
    made = simulate_drives(
        CampaignScenario(routes=10, systems=3, seeds=2), np.random.default_rng(1)
    )
    design = build_matched_design(build_risk_sets(made.tracks, {}))
    terms = fit_matched_jackknife(design).terms
    routes = np.unique(design.sets.clusters)
    spread = np.zeros(len(terms))
    for route in routes:
        rest = design.sets.clusters != route
        sets = replace(
            design.sets,
            rows=design.sets.rows[rest],
            member=design.sets.member[rest],
            events=design.sets.events[rest],
            clusters=design.sets.clusters[rest],
        )
        part = fit_matched_jackknife(replace(design, sets=sets)).terms["coefficient"].to_numpy()
        share = (len(routes) - 1) / len(routes)
        spread += share * (part - terms["coefficient"].to_numpy()) ** 2
    assert terms["error"].to_numpy() == pytest.approx(np.sqrt(spread), rel=1e-3)


def test_a_pattern_that_differs_in_no_set_is_not_estimated() -> None:
    made = simulate_drives(
        CampaignScenario(routes=10, systems=3, seeds=2), np.random.default_rng(2)
    )
    passed = build_risk_sets(made.tracks, {})
    passed.sample.counts[:, 2] = 3 * passed.sample.exposure
    passed.sample.counts[:, 4] = passed.sample.exposure * (1 + passed.sample.clusters)
    design = build_matched_design(passed)
    assert set(design.refused) == {"LADE", "CCLE"}
    assert set(design.predictors) == {"LCME", "LCLE", "CCME", "CADE"}
    result = build_risk_set_checks(passed, design)
    assert {"not estimated", "separation", "VIF"} <= set(result["check"])
