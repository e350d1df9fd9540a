"""The road users that a study's tests could lose: from its rows of road users, or from counts."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.types.vocabulary import Boxes, Floats, Integers, Mask
from studies.metamorphic.guiding.null_world import UsersAtRisk, pair_hulls, pair_with_itself
from studies.metamorphic.judging.guidance import FARTHEST, compute_nearness
from studies.metamorphic.storage.records import USER_BOX

LONG_RANGE_CHECK = "long_range_"


def collect_users_at_risk(users: pd.DataFrame, exposed: pd.DataFrame) -> UsersAtRisk:
    """Return the road users of tests.

    Args:
        users: rows of one system's tests; without those of every test, counts are used.
        exposed: numbers of road users that are exposed, a row for each test, a column for each
            check.
    """
    rows = exposed.index.get_indexer(pd.MultiIndex.from_frame(users[["scene", "operator"]]))
    counted = np.bincount(rows[rows >= 0], minlength=len(exposed))
    if not np.array_equal(counted, exposed["missed"].to_numpy()):
        return rebuild_users_from_counts(exposed)
    order = np.argsort(rows, kind="stable")
    order = order[rows[order] >= 0]
    return read_user_rows(users.iloc[order], rows[order], exposed)


def read_user_rows(users: pd.DataFrame, test: Integers, exposed: pd.DataFrame) -> UsersAtRisk:
    """Return road users with their places.

    Args:
        users: rows, those of a test together.
        test: of each row, ascending.
        exposed: whose columns are the checks.
    """
    geometry = users[list(USER_BOX)].to_numpy(np.float64)
    alone = users["alone"].to_numpy(np.float64)
    boxes = Boxes(geometry, users["class"].to_numpy(np.int64), np.ones(len(users)))
    away = np.hypot(geometry[:, 0], geometry[:, 1])
    known: dict[str, Mask] = {
        "missed": np.ones(len(users), np.bool_),
        "misled": alone > 0,
        "occlusion": users["occlusion"].to_numpy(np.float64) > 0,
        **{
            name: away > float(name.removeprefix(LONG_RANGE_CHECK))
            for name in exposed.columns
            if name.startswith(LONG_RANGE_CHECK)
        },
    }
    shares = users["occluded_share"].to_numpy(np.float64) + users["far_share"].to_numpy(np.float64)
    return UsersAtRisk(
        tests=len(exposed),
        test=test,
        alone=alone,
        exposed=known,
        pairs=pair_hulls(boxes, test, alone),
        fitness={"v2xgen": 0.5 * shares, "multitest": 0.5 * compute_nearness(boxes, FARTHEST)},
        joint=frozenset(known),
    )


def rebuild_users_from_counts(exposed: pd.DataFrame) -> UsersAtRisk:
    """Return road users where only their numbers are known.

    The ego's scores are taken to be equal. Which of those that the ego detects are hidden or far is
    not known, nor what a lost one adds to a fitness: only MCE can be judged, and VGT.

    Args:
        exposed: numbers by test and check.
    """
    counts = exposed["missed"].to_numpy(np.int64)
    test = np.repeat(np.arange(len(counts)), counts)
    # places within a test, from 0 on
    place = np.arange(len(test)) - np.repeat(np.cumsum(counts) - counts, counts)
    known: dict[str, Mask] = {
        str(name): place < exposed[name].to_numpy()[test] for name in exposed.columns
    }
    alone: Floats = known["misled"].astype(np.float64)
    return UsersAtRisk(
        tests=len(counts),
        test=test,
        alone=alone,
        exposed=known,
        pairs=pair_with_itself(alone),
        fitness={},
        joint=frozenset({"misled", "missed"}),
    )
