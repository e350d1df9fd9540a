"""How far boxes of messages are from the road users that they stand for, before and after a move.

A box stands for the road user that was nearest to it when it was captured. That road user's place
of now is what the box should have: what is left is an error of position.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.types.vocabulary import Floats, Integers

SAME = (2.5, 1.0, 2.0)
"""Metres at capture between a box and the vehicle, pedestrian, cyclist that it stands for."""
UNMATCHED = -1
"""The id where a box stands for no road user."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class UserPlaces:
    """Where road users are at one moment.

    Attributes:
        ids: (M,) of actors.
        classes: (M,) index into CLASSES.
        xy: (M, 2) metres in the world.
    """

    ids: Integers
    classes: Integers
    xy: Floats


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BoxResiduals:
    """Errors of position of N boxes; NaN where no road user is meant, or one who has left.

    Attributes:
        ids: (N,) of the road users; UNMATCHED where there is none.
        stated: (N,) metres from where the message says to where the road user is now.
        moved: (N,) metres from where the box was moved to where the road user is now.
    """

    ids: Integers
    stated: Floats
    moved: Floats


def measure_box_residuals(
    stated_xy: Floats,
    moved_xy: Floats,
    classes: Integers,
    *,
    captured: UserPlaces,
    now: UserPlaces,
) -> BoxResiduals:
    """Return what error of position boxes have now, as they were stated and as they were moved.

    Args:
        stated_xy: (N, 2) metres in the world, as a message says.
        moved_xy: (N, 2) metres in the world, after compensation.
        classes: (N,) index into CLASSES.
        captured: road users when the message was captured.
        now: road users at the planning step.
    """
    count = len(classes)
    ids = np.full(count, UNMATCHED, np.int64)
    if count and len(captured.ids):
        # (N, M) metres, within a class
        away = np.linalg.norm(stated_xy[:, None] - captured.xy[None], axis=2)
        away = np.where(classes[:, None] == captured.classes, away, np.inf)
        nearest = away.argmin(1)
        close = away[np.arange(count), nearest] <= np.array(SAME)[classes]
        ids = np.where(close, captured.ids[nearest], UNMATCHED)
    places = {int(one): xy for one, xy in zip(now.ids.tolist(), now.xy, strict=True)}
    gone = np.full(2, np.nan)
    truth = np.array([places.get(int(one), gone) for one in ids]).reshape(count, 2)
    return BoxResiduals(
        ids=ids,
        stated=np.linalg.norm(stated_xy - truth, axis=1),
        moved=np.linalg.norm(moved_xy - truth, axis=1),
    )
