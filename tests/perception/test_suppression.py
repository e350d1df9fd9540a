"""Compiled overlaps and suppression, held against `harness.types.overlap` and a slow reading."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agents.perception.decoding import apply_nms, find_short_boxes
from agents.perception.designs import DecodingThresholds
from agents.perception.suppression import compute_overlap_matrix, select_kept_rows
from harness.types.overlap import compute_bev_iou
from harness.types.vocabulary import CLASSES, Boxes, Floats
from tests.evaluation.scenes import boxes, row, rows, scored


@given(boxes(), boxes())
def test_overlaps_are_those_of_whole_tables(a: Floats, b: Floats) -> None:
    np.testing.assert_allclose(
        compute_overlap_matrix(a, b), compute_bev_iou(a, b), rtol=0.0, atol=1e-12
    )


@given(scored(9), st.sampled_from([0.0, 0.15, 0.5]), st.integers(1, 4), st.data())
def test_who_stays_is_not_overlapped_by_who_stayed_before(
    given_boxes: tuple[Floats, Floats], overlap: float, k: int, data: st.DataObject
) -> None:
    geometry, scores = given_boxes
    kinds = st.integers(-1, len(CLASSES))
    classes = data.draw(st.lists(kinds, min_size=len(scores), max_size=len(scores)))
    sent = Boxes(geometry, np.array(classes, np.int64), scores)
    decoding = DecodingThresholds(nms_overlap=overlap, top_k=k, longest=14.0)
    best, expected = apply_nms(sent, decoding), slowly(sent, decoding)
    assert best.geometry.tolist() == expected.geometry.tolist()
    assert best.classes.tolist() == expected.classes.tolist()
    assert best.scores.tolist() == expected.scores.tolist()


def slowly(sent: Boxes, decoding: DecodingThresholds) -> Boxes:
    """Suppress class by class, every box compared with every one before it that stayed."""
    sent = sent[find_short_boxes(sent.geometry, decoding.longest)]
    parts = []
    for kind in range(len(CLASSES)):
        of_kind = sent[sent.classes == kind]
        best_first = of_kind[np.argsort(-of_kind.scores, kind="stable")][: decoding.top_k]
        table = compute_bev_iou(best_first.geometry, best_first.geometry)
        kept: list[int] = []
        for at in range(len(best_first)):
            if not any(table[before, at] > decoding.nms_overlap for before in kept):
                kept.append(at)
        parts.append(best_first[np.array(kept, np.int64)])
    return Boxes.join(parts)


def test_boxes_of_another_class_are_not_suppressed() -> None:
    same = rows(row(), row(), row(x=0.1))
    assert select_kept_rows(same, np.array([0, 0, 2]), 1000, 0.15).tolist() == [0, 2]


def test_those_beyond_k_neither_stay_nor_suppress() -> None:
    apart = rows(row(), row(x=10), row(x=20), row(x=30))
    assert select_kept_rows(apart, np.array([0, 0, 0, 1]), 2, 0.15).tolist() == [0, 1, 3]
