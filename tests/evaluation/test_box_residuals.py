"""Errors of position of boxes, next to a slow search written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.evaluation.box_residuals import SAME, UNMATCHED, UserPlaces, measure_box_residuals
from harness.types.vocabulary import Floats, Integers


def make_places(ids: Integers, classes: Integers, xy: Floats) -> UserPlaces:
    return UserPlaces(ids=ids, classes=classes, xy=xy)


def test_errors_are_those_of_a_slow_search() -> None:
    random = np.random.default_rng(7)
    ids, classes = np.arange(100, 112), random.integers(0, 3, 12)
    then = random.uniform(0.0, 12.0, (12, 2))
    now = then + random.normal(0.0, 2.0, (12, 2))
    stated = then[random.integers(0, 12, 30)] + random.normal(0.0, 1.0, (30, 2))
    moved, kinds = stated + random.normal(0.0, 1.0, (30, 2)), random.integers(0, 3, 30)
    # two of them have left
    measured = measure_box_residuals(
        stated,
        moved,
        kinds,
        captured=make_places(ids, classes, then),
        now=make_places(ids[:10], classes[:10], now[:10]),
    )
    matched = 0
    for box in range(30):
        away = {
            number: math.dist(stated[box], then[number])
            for number in range(12)
            if classes[number] == kinds[box]
        }
        nearest = min(away, key=lambda number: away[number], default=-1)
        if nearest < 0 or away[nearest] > SAME[kinds[box]]:
            assert measured.ids[box] == UNMATCHED
            assert np.isnan(measured.stated[box])
            continue
        assert measured.ids[box] == ids[nearest]
        if nearest >= 10:
            assert np.isnan(measured.moved[box])
            continue
        matched += 1
        assert measured.stated[box] == pytest.approx(math.dist(stated[box], now[nearest]))
        assert measured.moved[box] == pytest.approx(math.dist(moved[box], now[nearest]))
    assert 3 < matched < 30


def test_without_boxes_or_road_users_there_is_no_error() -> None:
    empty = make_places(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 2)))
    result = measure_box_residuals(
        np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0, np.int64), captured=empty, now=empty
    )
    assert result.ids.shape == result.stated.shape == (0,)
    alone = measure_box_residuals(
        np.zeros((1, 2)), np.zeros((1, 2)), np.zeros(1, np.int64), captured=empty, now=empty
    )
    assert np.isnan(alone.moved).all()
