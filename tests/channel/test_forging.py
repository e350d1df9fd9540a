"""Road users who are not there, and road users that messages leave out."""

from __future__ import annotations

import numpy as np
import pytest

from harness.channel.disturbance import Disturbance
from harness.channel.interference.ghosts import SIZE, Ghosts, sample_box_surface
from harness.channel.interference.removed import Removed
from harness.common.errors import AttemptError, UserError
from harness.types.vocabulary import VEHICLE, Boxes, Kind, Message, Points
from tests.channel.episode import Episode, some_boxes, some_features, some_points
from tests.channel.statistics import follows, uniform_cdf


def boxes_of(message: Message) -> Boxes:
    assert isinstance(message.payload, Boxes)
    return message.payload


def sweep_of(message: Message) -> np.ndarray:
    assert isinstance(message.payload, Points)
    return message.payload.in_lidar


def test_ghosts_join_the_boxes_and_stand_on_the_road() -> None:
    episode = Episode(Ghosts(count=3, score=0.7)).run(4)
    episode.channel.audit.verify_deliveries()
    for (message,) in episode.given:
        boxes = boxes_of(message)
        assert len(boxes) == len(some_boxes()) + 3
        assert np.array_equal(boxes.geometry[:5], some_boxes().geometry)
        ghosts = boxes[slice(5, None)]
        assert np.all(ghosts.classes == VEHICLE)
        assert np.all(ghosts.scores == 0.7)
        assert ghosts.geometry[:, 2] - ghosts.geometry[:, 5] / 2 == pytest.approx([-7.5] * 3)


def test_ghosts_stay_with_their_partner_for_an_episode() -> None:
    partners: list[tuple[str, Kind]] = [("roadside-0", "roadside"), ("vehicle-1", "vehicle")]
    episode = Episode(Ghosts()).run(3, partners)
    ghosts = [[boxes_of(message).geometry[5:] for message in now] for now in episode.given]
    for roadside, vehicle in ghosts:
        assert np.array_equal(roadside, ghosts[0][0])
        assert np.array_equal(vehicle, ghosts[0][1])
        assert not np.isclose(roadside[:, :2], vehicle[:, :2]).any()
        assert vehicle[:, 2] == pytest.approx([SIZE[2] / 2 - 1.85] * 2)


def test_where_ghosts_stand() -> None:
    every = []
    for seed in range(150):
        (message,) = Episode(Ghosts(2, 6.0, farthest=30.0), seed=seed).run(1).given[0]
        every.append(boxes_of(message).geometry[5:])
    x, y = np.concatenate(every)[:, :2].T
    assert follows(np.hypot(x, y), uniform_cdf(6.0, 30.0))
    assert follows(np.arctan2(y, x), uniform_cdf(-np.pi, np.pi))


def test_ghosts_of_a_sweep_are_skins_that_a_lidar_could_see() -> None:
    episode = Episode(Ghosts(count=1)).run(2, payload=some_points)
    episode.channel.audit.verify_deliveries()
    (message,) = episode.given[0]
    sent = some_points().in_lidar
    assert np.array_equal(sweep_of(message)[: len(sent)], sent)
    extra = sweep_of(message)[len(sent) :, :3].astype(float)
    ghost = boxes_of(Episode(Ghosts(count=1)).run(1).given[0][0]).geometry[-1]
    yaw = ghost[6]
    turn = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    half = np.array(SIZE) / 2
    extra_in_box = (extra - ghost[:3]) @ turn / half
    lidar_in_box = -ghost[:3] @ turn / half
    looked_at = np.abs(lidar_in_box) > 1
    on_face = np.isclose(extra_in_box, np.sign(lidar_in_box), atol=1e-5) & looked_at
    assert on_face.any(axis=1).all()
    assert np.array_equal(on_face.any(axis=0), looked_at)
    assert np.abs(extra_in_box).max() < 1 + 1e-5


def test_a_lidar_within_a_box_sees_nothing_of_it() -> None:
    assert sample_box_surface(np.array([0.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.3])).shape == (0, 4)


def test_boxes_are_left_out_one_by_one() -> None:
    episode = Episode(Removed(0.4)).run(300)
    episode.channel.audit.verify_deliveries()
    kept = [len(boxes_of(message)) for (message,) in episode.given]
    assert np.mean(kept) / 5 == pytest.approx(0.6, abs=0.05)
    assert set(kept) == {0, 1, 2, 3, 4, 5}
    originals = {tuple(row) for row in some_boxes().geometry}
    for (message,) in episode.given:
        assert {tuple(row) for row in boxes_of(message).geometry} <= originals


def test_of_a_sweep_whole_sectors_are_left_out() -> None:
    disturbance = Removed(0.5, sectors=12)
    episode = Episode(disturbance).run(60, payload=some_points)
    episode.channel.audit.verify_deliveries()
    sent = some_points().in_lidar
    shares = []
    for (message,) in episode.given:
        kept = set(disturbance.compute_sectors(sweep_of(message)).tolist())
        in_kept = np.isin(disturbance.compute_sectors(sent), list(kept))
        assert np.array_equal(sweep_of(message), sent[in_kept])
        shares.append(len(kept) / 12)
    assert np.mean(shares) == pytest.approx(0.5, abs=0.06)


def test_sectors_go_all_the_way_round() -> None:
    angle = np.linspace(-np.pi, np.pi, 721)
    sweep = np.column_stack([np.cos(angle), np.sin(angle), angle, angle]).astype(np.float32)
    sector = Removed(0.5, sectors=12).compute_sectors(sweep)
    assert np.all(np.diff(sector) >= 0)
    assert set(np.bincount(sector)) <= {59, 60, 61}


def test_nothing_to_remove_is_no_fault() -> None:
    Episode(Removed(0.5)).run(30, payload=Boxes.none).channel.audit.verify_deliveries()


def test_nothing_removed_although_all_but_impossible_fails() -> None:
    class Unchanged(Removed):
        def alter(self, message: Message) -> Message:
            super().alter(message)
            return message

    Episode(Unchanged(0.5)).run(3).channel.audit.verify_deliveries()
    with pytest.raises(AttemptError, match="removed: changed nothing in 5 messages"):
        Episode(Unchanged(0.5)).run(5).channel.audit.verify_deliveries()


@pytest.mark.parametrize("disturbance", [Ghosts(), Removed()])
def test_features_cannot_be_forged(disturbance: Disturbance) -> None:
    with pytest.raises(AttemptError, match="roadside-0 sends Features, which this"):
        Episode(disturbance).run(1, payload=some_features)


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(UserError, match="count must be ≥ 0"):
        Ghosts(count=-1)
    with pytest.raises(UserError, match="nearest ≤ farthest"):
        Ghosts(nearest=30.0, farthest=6.0)
    with pytest.raises(UserError, match=r"removed.share = 1\.1"):
        Removed(1.1)
    with pytest.raises(UserError, match="must be ≥ 1"):
        Removed(0.5, sectors=0)
