"""Injected errors come as often, last as long and lie as far as the model says; doses multiply."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.common.errors import UserError
from harness.evaluation.frame_evaluation import EvaluatedFrame, EvaluationSettings
from harness.evaluation.interventions.error_model import (
    IN_BANDS,
    OF_BOXES,
    ErrorModel,
    match_additional_boxes,
    parse_error_model,
    read_error_model,
)
from harness.evaluation.interventions.inject import (
    COPIED,
    NONE,
    STATES,
    Chain,
    Inject,
    build_error_chain,
)
from harness.evaluation.patterns import compute_highest_overlap
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Boxes, Perceived
from studies.interventions.measure import estimate_persistence, measure_errors
from tests.interventions.street import (
    ACTORS,
    BLINKS,
    FALSE,
    KNOWN,
    ON,
    TRUTH,
    driven_steps,
    false_there,
    model_with,
    scene_at,
    tables,
)

STEPS = 600
ERRORS = 5.0
"""Standard errors within which an estimate must lie."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("model") / "model.json", model_with())


def written(path: Path, model: ErrorModel) -> str:
    path.write_text(model.format_text())
    return str(path)


@pytest.fixture(scope="module")
def drive(file: str) -> list[EvaluatedFrame]:
    return list(driven_steps(Inject(file), STEPS, seed=3))


def standard_error(share: float, stay: float, count: int) -> float:
    """Of the mean of a two-state chain, whose steps are correlated."""
    correlation = max((stay - share) / (1 - share), 0.0)
    return math.sqrt(share * (1 - share) / count * (1 + correlation) / (1 - correlation))


def shown(frames: list[EvaluatedFrame]) -> np.ndarray[Any, Any]:
    """Return the pattern of each actor at each step."""
    return np.array([evaluated.truth.pattern for evaluated in frames])


@pytest.mark.thorough
@pytest.mark.parametrize("pattern", OF_BOXES)
@pytest.mark.parametrize("band", [0, 1])
def test_rates_are_those_of_the_model(drive: list[EvaluatedFrame], pattern: str, band: int) -> None:
    of_band = (drive[0].truth.bands == band) & ((pattern[0] == "L") == KNOWN)
    assert of_band.any()
    rate = (shown(drive)[:, of_band] == PATTERNS.index(pattern)).mean()
    model = model_with()
    share, stay = float(model.share[pattern][band]), float(model.stay[pattern][band])
    count = STEPS * int(of_band.sum())
    assert abs(rate - share) < ERRORS * standard_error(share, stay, count)


@pytest.mark.parametrize("pattern", OF_BOXES)
@pytest.mark.parametrize("band", [0, 1])
def test_errors_last_as_long_as_in_the_model(
    drive: list[EvaluatedFrame], pattern: str, band: int
) -> None:
    there = (shown(drive) == PATTERNS.index(pattern)) & (drive[0].truth.bands == band)
    followed = there[:-1]
    stay = (there[1:] & followed).sum() / followed.sum()
    expected = float(model_with().stay[pattern][band])
    assert abs(stay - expected) < ERRORS * math.sqrt(expected * (1 - expected) / followed.sum())


def test_ghosts_are_as_many_and_last_as_long(drive: list[EvaluatedFrame]) -> None:
    counts = [
        (evaluated.cooperative.pattern == PATTERNS.index("LADE")).sum() for evaluated in drive
    ]
    stay, mean = model_with().ghosts_stay, model_with().ghosts_a_step
    error = math.sqrt(mean / STEPS * (1 + stay) / (1 - stay))
    assert abs(np.mean(counts) - mean) < ERRORS * error
    assert abs(np.var(counts) - mean) < 3 * ERRORS * error, "Poisson: variance is the mean"


def copied(drive: list[EvaluatedFrame]) -> np.ndarray[Any, Any]:
    """Return which false detections of the ego alone the cooperative boxes repeat, step by step.

    A copy has the pose, size and score of the ego alone's.
    """
    rows = []
    for step, evaluated in enumerate(drive):
        part = evaluated.cooperative
        shows = part.pattern == PATTERNS.index("CADE")
        false = FALSE - np.array([0.02 * step, *[0.0] * 6])
        same = (part.boxes.geometry[shows][:, None] == false[None]).all(axis=2)
        assert (same.sum(axis=1) == 1).all()
        assert (part.boxes.scores[shows] == 0.6).all()
        rows.append(same.any(axis=0))
    return np.array(rows)


COPIES = (pytest.param(0, [0, 1, 3], id="near"), pytest.param(1, [4, 5, 6], id="far"))


@pytest.mark.parametrize(("band", "which"), COPIES)
def test_false_detections_are_copied_as_often_and_for_as_long(
    drive: list[EvaluatedFrame], band: int, which: list[int]
) -> None:
    there = copied(drive)[:, which]
    share, stay = (float(part["CADE"][band]) for part in (model_with().share, model_with().stay))
    assert abs(there.mean() - share) < ERRORS * standard_error(share, stay, there.size)
    followed = there[:-1]
    lasting = (there[1:] & followed).sum() / followed.sum()
    assert abs(lasting - stay) < ERRORS * math.sqrt(stay * (1 - stay) / followed.sum())


@pytest.mark.thorough
def test_copies_are_cade_and_nothing_else_and_go_with_what_they_copy(file: str) -> None:
    inject = Inject(file, patterns=["CADE"])
    drive = list(driven_steps(inject, 200, seed=2))
    totals = {
        name: sum(evaluated.count_patterns()[name] for evaluated in drive) for name in PATTERNS
    }
    there = copied(drive)
    assert totals == {**dict.fromkeys(PATTERNS, 0), "CADE": there.sum()}
    assert there[:, BLINKS].sum() > ON
    assert not there[[step for step in range(200) if not false_there(step)[BLINKS]], BLINKS].any()
    changes = inject.apply(scene_at(0)).changes
    assert {(one.kind, one.pattern, one.actor) for one in changes} == {("added", "CADE", -1)}


@pytest.mark.thorough
def test_all_false_detections_are_copied_at_most(tmp_path: Path) -> None:
    """Where all are, a dose is not cut; twice as many are all, and that is recorded."""
    share = {**model_with().share, "CADE": np.array([1.0, 0.6, 0.0])}
    file = written(tmp_path / "model.json", model_with(share=share))
    once, twice = (Inject(file, times, patterns=["CADE"]) for times in (1.0, 2.0))
    assert (once.record()["capped"], twice.record()["capped"]) == ([], ["CADE 0_30", "CADE 30_50"])
    there = copied(list(driven_steps(twice, 60, seed=1)))
    assert np.array_equal(there, [false_there(step) for step in range(60)])
    assert copied(list(driven_steps(once, 60, seed=1)))[:, :2].all()


def test_without_false_detections_of_the_ego_alone_none_is_copied(file: str) -> None:
    inject = Inject(file, patterns=["CADE"])
    inject.reset(1, 0.2)
    for step in range(50):
        scene = scene_at(step)
        true = scene.truth.boxes_in_lidar
        assert inject.apply(replace(scene, perceived=Perceived(true, true))).changes == ()


def test_offsets_are_those_of_the_model_and_are_kept(drive: list[EvaluatedFrame]) -> None:
    """A mislocalised actor has one of its band, with its score, until it is right or missed."""
    scores = np.full((200, ACTORS), np.nan)
    for step, evaluated in enumerate(drive[:200]):
        overlaps = scene_at(0).overlaps(evaluated.cooperative.boxes)
        for actor in np.flatnonzero(np.isin(evaluated.truth.pattern, [1, 4])):
            box = int(overlaps[actor].argmax())
            scores[step, actor] = evaluated.cooperative.boxes.scores[box]
    lasting = np.isfinite(scores[1:]) & np.isfinite(scores[:-1])
    assert lasting.sum() > 50
    assert np.array_equal(scores[1:][lasting], scores[:-1][lasting])
    far = drive[0].truth.bands == 1
    for which, expected in ((~far, {0.7, 0.4}), (far, {0.2})):
        assert set(scores[:, which][np.isfinite(scores[:, which])]) == expected


def test_a_band_without_offsets_has_those_of_others(tmp_path: Path) -> None:
    offsets = {(0, 0): model_with().offsets[0, 0]}
    file = written(tmp_path / "model.json", model_with(offsets=offsets))
    drive = driven_steps(Inject(file, patterns=["LCLE", "CCLE"]), 40, seed=1)
    scores = np.concatenate([evaluated.cooperative.boxes.scores for evaluated in drive])
    assert set(scores) == {1.0, 0.7, 0.4}


def test_ghosts_stand_still_in_the_world(file: str) -> None:
    inject = Inject(file, patterns=["LADE"])
    inject.reset(4, 0.2)
    places = set()
    for step in range(100):
        scene = scene_at(step)
        for change in inject.apply(scene).changes:
            places.add(round(float(change.after[0]) + scene.lidar_in_world.x, 6))
    assert 3 < len(places) < 30
    assert all(min(abs(x - 20 - 0.02 * n) for n in range(100)) < 1e-5 for x in places if x > 0)


def test_only_what_is_judged_is_perfect(file: str) -> None:
    """Outside the window, of parked cars and of road users that do not count, detections stay."""
    scene = scene_at(0)
    rows = {
        "wrong": [0.0, -30.0],
        "outside": [70.0, 0.0],
        "parked": [0.0, 40.0],
        "of an uncounted one": [*TRUTH[0][:2]],
        "poor": [TRUTH[1][0] + 0.5, TRUTH[1][1]],
    }
    boxes = np.array([[*place, 0.0, 4.5, 2.0, 1.5, 0.0] for place in rows.values()])
    cooperative = Boxes(boxes, np.zeros(len(boxes), np.int64), np.full(len(boxes), 0.5))
    scene = replace(
        scene,
        perceived=Perceived(cooperative, scene.perceived.ego_alone),
        hits_observers=np.where(np.arange(ACTORS) == 0, 0, 50),
        parked=cooperative[2:3],
    )
    result = Inject(file, times=0.0)
    result.reset(1, 0.2)
    boxes_after = result.apply(scene).cooperative
    assert np.array_equal(boxes_after.geometry, np.concatenate([boxes[[1, 2, 3]], TRUTH[1:]]))
    assert boxes_after.scores.tolist() == [0.5] * 3 + [1.0] * (ACTORS - 1)


@pytest.mark.thorough
def test_the_model_is_measured_back(drive: list[EvaluatedFrame]) -> None:
    """What `crucible errors` measures of drives with injected errors are those errors."""
    model, again = model_with(), measure_errors([tables(drive)], EvaluationSettings(), {"arm": "a"})
    for name in IN_BANDS:
        for band in (0, 1):
            share, stay = float(model.share[name][band]), float(model.stay[name][band])
            error = standard_error(share, stay, STEPS)  # of one box in each step, at least
            assert abs(again.share[name][band] - share) < ERRORS * error, (name, band)
            error = math.sqrt(stay * (1 - stay) / (share * STEPS))
            assert abs(again.stay[name][band] - stay) < ERRORS * error, (name, band)
    assert abs(again.ghosts_a_step - model.ghosts_a_step) < 0.3
    assert abs(again.ghosts_stay - model.ghosts_stay) < 0.08
    assert set(again.offsets) == set(model.offsets)
    for of, rows in model.offsets.items():
        assert {tuple(np.round(row, 4)) for row in again.offsets[of]} == set(map(tuple, rows))
    assert again.period == pytest.approx(0.2)
    assert again.source["boxes"] == STEPS * ACTORS
    assert again.source["false_detections"] == sum(false_there(step).sum() for step in range(STEPS))


def test_a_band_with_few_errors_to_follow_has_the_persistence_of_all() -> None:
    lasting, followed = np.array([66.0, 9.0, 5.0]), np.array([81.0, 9.0, 10.0])
    assert estimate_persistence(lasting, followed) == pytest.approx([66 / 81, 0.8, 0.5])
    assert estimate_persistence(np.zeros(3), np.zeros(3)).tolist() == [0.0] * 3


def test_additional_boxes_of_two_steps_are_one_if_they_are_near_and_of_a_class() -> None:
    def boxes(*places: float, kind: int = 0) -> Boxes:
        rows = np.array([[x, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0] for x in places])
        return Boxes(rows, np.full(len(places), kind), np.ones(len(places)))

    assert match_additional_boxes(boxes(0, 10), boxes(30, 1)) == [(0, 1)]
    assert match_additional_boxes(boxes(0, 1), boxes(0.9)) == [(1, 0)]
    assert match_additional_boxes(boxes(0), boxes(0, kind=1)) == []
    assert match_additional_boxes(boxes(0), Boxes.none()) == []


@pytest.mark.thorough
def test_dose_nothing_is_perfect_and_twice_is_twice_as_much(file: str) -> None:
    none = list(driven_steps(Inject(file, times=0.0), 50, seed=1))
    assert not any(evaluated.count_patterns()[name] for evaluated in none for name in PATTERNS)
    half, once = (
        shown(list(driven_steps(Inject(file, times=dose), 250, seed=1))) >= 0 for dose in (0.5, 1.0)
    )
    assert 0.35 < half.sum() / once.sum() < 0.65


def test_chains_keep_shares_and_persistence() -> None:
    """Also where nearly all boxes show an error, so that one must turn into the other."""
    for shares, stays in (
        ((0.2, 0.1), (0.8, 0.7)),
        ((0.73, 0.2), (0.8, 0.3)),
        ((0.5, 0.0), (0.6, 0.0)),
        ((0.3, 0.68), (0.5, 0.8)),
    ):
        chain = build_error_chain(
            dict(zip(STATES, shares, strict=True)), dict(zip(STATES, stays, strict=True))
        )
        matrix = matrix_of(chain)
        assert (matrix >= 0).all()
        assert matrix.sum(axis=1) == pytest.approx(1)
        stationary = np.array([1 - sum(shares), *shares])
        assert stationary @ matrix == pytest.approx(stationary)
        diagonal = [matrix[n + 1, n + 1] for n in (0, 1) if shares[n]]
        assert diagonal == pytest.approx([stays[n] for n in (0, 1) if shares[n]])


@pytest.mark.parametrize(("share", "stay"), [(0.6, 0.9), (0.6, 0.1), (0.0, 0.5), (1.0, 0.4)])
def test_a_chain_of_one_error_keeps_its_share(share: float, stay: float) -> None:
    """Errors last longer than asked where they are too frequent to be so short."""
    chain = build_error_chain({COPIED: share}, {COPIED: stay})
    enter, again = chain[NONE][COPIED], chain[COPIED][COPIED]
    assert (1 - share) * enter + share * again == pytest.approx(share)
    if share:
        assert again == pytest.approx(max(stay, 2 - 1 / share))


def test_shares_go_before_persistence() -> None:
    chain = build_error_chain(
        dict(zip(STATES, (0.9, 0.0), strict=True)), dict.fromkeys(STATES, 0.2)
    )
    stationary = np.array([0.1, 0.9, 0.0])
    assert stationary @ matrix_of(chain) == pytest.approx(stationary)
    assert chain[STATES[0]][STATES[0]] == pytest.approx(1 - 0.1 / 0.9)


def matrix_of(chain: Chain) -> np.ndarray[Any, Any]:
    """Return the transitions between no error, missed and mislocalised."""
    rows = [[chain[state].get(other, 0.0) for other in STATES] for state in (NONE, *STATES)]
    return np.array([[1 - sum(row), *row] for row in rows])


@pytest.mark.thorough
def test_doses_beyond_all_boxes_are_cut_and_recorded(file: str) -> None:
    inject = Inject(file, times=3.0)
    assert inject.record()["capped"] == ["L 30_50", "C 0_30", "C 30_50", "CADE 0_30"]
    assert Inject(file, times=1.0).record()["capped"] == []
    drive = shown(list(driven_steps(inject, 100, seed=1)))
    assert 0.9 < (drive[:, ~KNOWN] >= 0).mean() < 1


@pytest.mark.thorough
def test_patterns_are_chosen(file: str) -> None:
    drive = list(driven_steps(Inject(file, patterns=["CCME"]), 100, seed=1))
    total = {
        name: sum(evaluated.count_patterns()[name] for evaluated in drive) for name in PATTERNS
    }
    assert total["CCME"] > 50
    assert sum(total.values()) == total["CCME"]


@pytest.mark.thorough
def test_equal_seeds_give_equal_errors_and_ego_alone_is_left_alone(file: str) -> None:
    inject = Inject(file)
    one, again, other = (shown(list(driven_steps(inject, 60, seed=seed))) for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    scene = scene_at(0)
    before = scene.perceived.ego_alone.geometry.copy()
    inject.apply(scene)
    assert np.array_equal(scene.perceived.ego_alone.geometry, before)
    assert (
        compute_highest_overlap(scene.overlaps(scene.perceived.ego_alone)) > 0.5
    ).sum() == KNOWN.sum()


def test_a_model_reads_back(file: str) -> None:
    model = model_with()
    assert read_error_model(file).to_record() == model.to_record()
    assert max(map(len, model.format_text().splitlines())) < 120


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"crucible_error_model": 1}, "version 1, not 2: measure with `crucible errors`"),
        ({"ghosts_stay": 1.5}, "1.5 is no probability"),
        ({"stay": {}}, "LCME"),
        ({"period": 0.0}, "must be ≥"),
        ({"ghosts": {"columns": ["x"]}}, "columns are"),
        ({"share": {}}, "LCME"),
    ],
)
def test_a_broken_model_is_one_line(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps({**model_with().to_record(), **change}))
    with pytest.raises(UserError, match=words) as raised:
        read_error_model(path)
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)


def test_shares_above_one_are_refused() -> None:
    record = model_with().to_record()
    record["share"]["LCME"]["0_30"] = 0.95
    with pytest.raises(ValueError, match="LCME and LCLE have shares above 1"):
        parse_error_model(record)


def test_what_cannot_be_injected_is_refused(file: str) -> None:
    with pytest.raises(ValueError, match="'FADE': unknown; valid: LCME"):
        Inject(file, patterns=["FADE"])
    with pytest.raises(ValueError, match="must be ≥ 0"):
        Inject(file, times=-1.0)
    with pytest.raises(
        ValueError, match=r"measured at steps of 0\.2 s, and planning steps are 0\.1"
    ):
        Inject(file).reset(1, 0.1)
    with pytest.raises(UserError, match="No such file"):
        Inject("/nowhere/model.json")
