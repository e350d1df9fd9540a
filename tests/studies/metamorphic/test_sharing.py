"""Sharing operators, stray points and placebos: what they change, and how shipped systems answer.

The networks are real, with the weights that are shipped; the recording is made up.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.network import set_one_thread
from agents.perception.systems import NetworkSystem, make_network_system
from harness.common.errors import UserError
from harness.common.randomness import make_named_stream
from harness.types.geometry import compute_relative_pose, transform_points
from harness.types.vocabulary import Features, Message, Pose, Surfaces
from studies.metamorphic.operators.partners import (
    AbsentPartners,
    DuplicateMessages,
    FewerPartners,
    OneMorePartner,
    SilentPartners,
)
from studies.metamorphic.operators.placebos import (
    ROUNDING,
    MillimetrePlacebo,
    NoisePlacebo,
    make_placebos,
)
from studies.metamorphic.operators.sharing import (
    ChannelLoss,
    GlobalLoss,
    PartnerLatency,
    PoseError,
)
from studies.metamorphic.operators.stray import StrayPointsOperator
from studies.metamorphic.operators.symmetries import (
    MirroredWorld,
    MovedWorld,
    ReorderedPartners,
    ReorderedPoints,
)
from studies.metamorphic.relations.changes import MirroredAnswer
from studies.metamorphic.relations.equal import AsAlone, EqualAnswer, make_equal_relations
from studies.metamorphic.relations.relation import ExpectedBoxes, MetamorphicRelation
from studies.metamorphic.scenes.answers import ask_system, build_partner_messages
from studies.metamorphic.scenes.operator import DoesNotApplyError, SceneOperator
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene
from studies.space import Values, sample_values
from tests.studies.metamorphic.made_boxes import SEEDS, made_up_scenes

NOTHING_CHANGED = ExpectedBoxes()
OPERATORS: tuple[SceneOperator, ...] = (
    *(PartnerLatency(1), PoseError(tilt=1.0), GlobalLoss(), ChannelLoss()),
    *(
        AbsentPartners(),
        AbsentPartners("all"),
        SilentPartners(),
        SilentPartners("all"),
        DuplicateMessages(),
        FewerPartners(),
    ),
    *(ReorderedPartners(), ReorderedPoints(), MovedWorld(), MirroredWorld()),
    *(
        StrayPointsOperator("ego"),
        StrayPointsOperator("partners"),
        StrayPointsOperator("both"),
        *make_placebos(),
    ),
)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> list[CooperativeScene]:
    set_one_thread()
    return made_up_scenes(tmp_path_factory.mktemp("recording"))


@pytest.fixture
def scene(scenes: list[CooperativeScene]) -> CooperativeScene:
    """The last moment of the first ego."""
    return scenes[2]


@cache
def system(scheme: str) -> NetworkSystem:
    return make_network_system(SCHEMES[scheme]())


def applied(
    operator: SceneOperator, scene: CooperativeScene, values: Values, seed: int = 1
) -> CooperativeScene:
    return operator.apply(scene, values, make_named_stream(seed, operator.name)).scene


def arrays(view: AgentView) -> list[np.ndarray]:
    truth = view.truth
    return [view.points_in_lidar, truth.boxes_in_lidar.geometry, truth.hits, truth.actor_ids]


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda one: one.name)
def test_an_operator_changes_something_repeats_and_leaves_its_source(
    operator: SceneOperator, scene: CooperativeScene
) -> None:
    values = sample_values(operator.space, make_named_stream(4, "values"))
    before = [array.copy() for view in scene.views for array in arrays(view)]
    one, again = (operator.apply(scene, values, make_named_stream(4, "apply")) for _ in range(2))
    assert one.changed > 0
    assert one.changed == again.changed
    for view, other in zip(one.scene.views, again.scene.views, strict=True):
        assert view.believed_in_world == other.believed_in_world
        pairs = zip(arrays(view), arrays(other), strict=True)
        assert all(np.array_equal(a, b) for a, b in pairs)
    after = [array for view in scene.views for array in arrays(view)]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    expectation = one.expectation
    assert not expectation.gone | expectation.moved | expectation.new | expectation.unjudged


def errors_of(scene: CooperativeScene, values: Values, seed: int) -> list[list[float]]:
    """Return x, y, z (m), yaw, pitch, roll (rad) by which every partner is wrong."""
    wrong = applied(PoseError(tilt=1.0), scene, values, seed)
    rows = []
    for partner, true in zip(wrong.partners, scene.partners, strict=True):
        believed, pose = partner.believed_in_world, true.lidar_in_world
        assert partner.lidar_in_world == pose
        rows.append([getattr(believed, axis) - getattr(pose, axis) for axis in Pose.__slots__])
    return rows


def test_pose_errors_lie_between_the_ends_of_their_ranges_and_fill_them(
    scene: CooperativeScene,
) -> None:
    """CooTest, table 1 (SM): metres in (-0.2, 0.2), yaw in (-2, 2) degrees."""
    values = {"x": 0.2, "y": 0.2, "z": 0.2, "yaw": 2.0, "pitch": 1.0, "roll": 1.0}
    errors = np.array([row for seed in range(300) for row in errors_of(scene, values, seed)])
    ends = [0.2, 0.2, 0.2, *(degrees * math.pi / 180 for degrees in (2.0, 1.0, 1.0))]
    for column, end in zip(errors.T, ends, strict=True):
        assert np.abs(column).max() <= end + 1e-9
        assert column.min() < -0.95 * end
        assert column.max() > 0.95 * end
        assert np.abs(column.mean()) < 0.1 * end


def test_yaw_is_in_degrees(scene: CooperativeScene) -> None:
    """A mutant that takes yaw for radians turns partners 57 times as far."""
    yaws = [abs(row[3]) for seed in range(40) for row in errors_of(scene, {"yaw": 2.0}, seed)]
    assert math.radians(1.5) < max(yaws) <= math.radians(2.0)


def test_axes_without_a_range_stay(scene: CooperativeScene) -> None:
    assert [one.name for one in PoseError().space] == ["x", "y", "z", "yaw"]
    rows = errors_of(scene, {"z": 0.2}, 3)
    assert all(row[axis] == 0 for row in rows for axis in (0, 1, 3, 4, 5))
    assert all(row[2] != 0 for row in rows)


def maps_message(random: np.random.Generator, channels: int) -> Message:
    maps = (random.uniform(-3.0, 5.0, (channels, 8, 9)).astype(np.float32),)
    return Message(
        sender="vehicle-9",
        kind="vehicle",
        capture_frame=0,
        capture_time=0.0,
        lidar_in_world=Pose(0.0, 0.0),
        payload=Features(maps),
    )


def after_air(scene: CooperativeScene, message: Message) -> np.ndarray:
    for disturbance in scene.on_air:
        message = disturbance.alter(message)
    assert isinstance(message.payload, Features)
    return message.payload.maps[0]


@given(probability=st.floats(0.05, 1.0), seed=SEEDS)
@settings(max_examples=25)
def test_global_loss_replaces_that_share_of_all_numbers(probability: float, seed: int) -> None:
    """CooTest, table 1 (GL): numbers become noise within the range of the feature."""
    sent = maps_message(make_named_stream(seed), 16)
    assert isinstance(sent.payload, Features)
    before = sent.payload.maps[0]
    after = after_air(applied(GlobalLoss(), bare(), {"probability": probability}, seed), sent)
    changed = sum(
        bool(after[c, row, column] != before[c, row, column])
        for c in range(16)
        for row in range(8)
        for column in range(9)
    )
    spread = 5 * math.sqrt(probability * (1 - probability) / before.size) + 1e-3
    assert abs(changed / before.size - probability) < spread
    assert before.min() <= after.min() <= after.max() <= before.max()


@given(place=st.floats(0.0, 1.0), channels=st.integers(1, 24), seed=SEEDS)
@settings(max_examples=40)
def test_channel_loss_replaces_whole_channels_rounded_down(
    place: float, channels: int, seed: int
) -> None:
    """CooTest, table 1 (CL): floor(p C) channels, at least one from the space's low end on."""
    sent = maps_message(make_named_stream(seed), channels)
    assert isinstance(sent.payload, Features)
    before, share = sent.payload.maps[0], max(1 / channels, place)
    after = after_air(applied(ChannelLoss(channels), bare(), {"share": share}, seed), sent)
    changed = [c for c in range(channels) if (after[c] != before[c]).any()]
    assert len(changed) == math.floor(share * channels + 1e-9)
    assert all((after[c] != before[c]).mean() > 0.9 for c in changed)


@pytest.mark.parametrize("operator", [GlobalLoss(), ChannelLoss()], ids=lambda one: one.name)
def test_noise_is_that_of_the_random_stream(operator: SceneOperator) -> None:
    sent = maps_message(make_named_stream(3), 16)
    values = {"probability": 0.5, "share": 0.5}
    one, again, other = (after_air(applied(operator, bare(), values, k), sent) for k in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_the_least_channel_loss_takes_one_channel() -> None:
    (parameter,) = ChannelLoss().space
    sent = maps_message(make_named_stream(3), 16)
    assert isinstance(sent.payload, Features)
    after = after_air(applied(ChannelLoss(), bare(), {"share": parameter.low}), sent)
    assert (after != sent.payload.maps[0]).any(axis=(1, 2)).sum() == 1
    with pytest.raises(UserError, match=r"channel_loss: share = 0.06 is less than one of 16"):
        applied(ChannelLoss(), bare(), {"share": 0.06})


@cache
def bare() -> CooperativeScene:
    """A scene with a partner that nothing else is known of."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return made_up_scenes(Path(folder) / "recording")[0]


def test_partners_are_absent_twice_fewer_or_one_more(scene: CooperativeScene) -> None:
    names = [view.name for view in scene.partners]
    assert [
        view.name for view in applied(AbsentPartners(), scene, {"partner": 1.0}).partners
    ] == names[1:]
    assert [
        view.name for view in applied(AbsentPartners(), scene, {"partner": 2.0}).partners
    ] == names[:1]
    assert applied(AbsentPartners("all"), scene, {}).partners == ()
    twice = applied(DuplicateMessages(), scene, {"partner": 2.0}).partners
    assert [view.name for view in twice] == [*names, names[1]]
    fewer = applied(FewerPartners(), scene, {"kept": 1.0})
    assert [view.name for view in fewer.partners] == names[:1]
    with pytest.raises(DoesNotApplyError, match="no more than 1 partners"):
        applied(FewerPartners(), fewer, {"kept": 1.0})
    more = applied(OneMorePartner(), fewer, {})
    assert [view.name for view in more.partners] == names
    with pytest.raises(DoesNotApplyError, match="no other agent"):
        applied(OneMorePartner(), more, {})


def test_another_order_is_another(scene: CooperativeScene) -> None:
    for seed in range(8):
        reordered = applied(ReorderedPartners(), scene, {}, seed)
        assert [v.name for v in reordered.partners] == [v.name for v in scene.partners[::-1]]


def test_shuffled_points_keep_their_surfaces(scene: CooperativeScene) -> None:
    count = len(scene.ego.points_in_lidar)
    labels = (np.arange(count) % 251).astype(np.uint8)
    known = Surfaces(labels, np.linspace(0, 1, count, dtype=np.float32))
    source = replace(scene, ego=replace(scene.ego, surfaces=known))
    ego = applied(ReorderedPoints(), source, {}).ego
    assert ego.surfaces is not None
    rows = {tuple(row) for row in np.column_stack([source.ego.points_in_lidar, labels]).tolist()}
    after = np.column_stack([ego.points_in_lidar, ego.surfaces.labels])
    assert {tuple(row) for row in after.tolist()} == rows
    assert not np.array_equal(ego.points_in_lidar, source.ego.points_in_lidar)


@given(x=st.floats(-500, 500), y=st.floats(-500, 500), yaw=st.floats(-180, 180))
@settings(max_examples=30)
def test_a_moved_world_is_the_same_from_inside(x: float, y: float, yaw: float) -> None:
    scene = bare()
    moved = applied(MovedWorld(), scene, {"x": x, "y": y, "yaw": yaw})
    for before, after in zip(scene.views, moved.views, strict=True):
        assert after.believed_in_world == after.lidar_in_world
        seen = compute_relative_pose(before.believed_in_world, scene.ego.believed_in_world)
        still = compute_relative_pose(after.believed_in_world, moved.ego.believed_in_world)
        for axis in Pose.__slots__:
            assert abs(getattr(seen, axis) - getattr(still, axis)) < 1e-6


def test_partners_points_are_mirrored_where_the_ego_puts_them(scene: CooperativeScene) -> None:
    """With pitch and roll, which a mirror of x and y alone would get wrong."""
    tilted = Pose(112.0, 49.0, 1.85, yaw=1.3, pitch=0.2, roll=-0.3)
    partner = replace(scene.partners[1], lidar_in_world=tilted, believed_in_world=tilted)
    source = replace(scene, partners=(partner,))
    mirror = applied(MirroredWorld(), source, {})
    for world in ("lidar_in_world", "believed_in_world"):
        (before, after) = (
            transform_points(
                one.partners[0].points_in_lidar,
                getattr(one.partners[0], world),
                getattr(one.ego, world),
            )
            for one in (source, mirror)
        )
        assert np.allclose(before * [1, -1, 1, 1], after, atol=1e-4)
    twice = applied(MirroredWorld(), mirror, {})
    assert all(
        np.array_equal(a, b) for a, b in zip(arrays(source.ego), arrays(twice.ego), strict=True)
    )


@given(count=st.sampled_from([1, 10, 100]), on=st.sampled_from(["ego", "partners", "both"]))
@settings(max_examples=12)
def test_stray_points_lie_outside_every_window(count: int, on: str) -> None:
    scene = bare()
    stray = applied(StrayPointsOperator(on), scene, {"count": float(count)})  # type: ignore[arg-type]
    for number, (before, after) in enumerate(zip(scene.views, stray.views, strict=True)):
        old, new = before.points_in_lidar, after.points_in_lidar
        expected = count if on == "both" or (on == "ego") == (number == 0) else 0
        assert len(new) == len(old) + expected
        assert np.array_equal(new[: len(old)], old)
        for row in new[len(old) :]:
            in_ego = transform_points(row[None], after.lidar_in_world, scene.ego.lidar_in_world)[0]
            assert max(abs(row[0]), abs(row[1])) >= 119.99
            assert max(abs(in_ego[0]), abs(in_ego[1])) >= 119.98
            assert max(abs(row[0]), abs(row[1])) <= 150.0
            assert old[:, 2].min() - 1e-4 <= row[2] <= old[:, 2].max() + 1e-4
            assert old[:, 3].min() - 1e-4 <= row[3] <= old[:, 3].max() + 1e-4


def test_stray_points_get_surfaces_and_windows_are_checked(scene: CooperativeScene) -> None:
    count = len(scene.ego.points_in_lidar)
    known = Surfaces(np.ones(count, np.uint8), np.ones(count, np.float32))
    source = replace(scene, ego=replace(scene.ego, surfaces=known))
    ego = applied(StrayPointsOperator("ego"), source, {"count": 10.0}).ego
    assert ego.surfaces is not None
    assert len(ego.surfaces) == len(ego.points_in_lidar) == count + 10
    with pytest.raises(UserError, match="window = 200"):
        StrayPointsOperator("ego", window=200.0)


def test_placebos_are_small(scene: CooperativeScene) -> None:
    shifted = applied(MillimetrePlacebo(), scene, {})
    for partner, true in zip(shifted.partners, scene.partners, strict=True):
        a, b = partner.believed_in_world, true.lidar_in_world
        assert math.hypot(a.x - b.x, a.y - b.y) == pytest.approx(1e-3, rel=1e-6)
        assert (a.z, a.yaw) == (b.z, b.yaw)
    noisy = applied(NoisePlacebo(), scene, {})
    apart = np.abs(noisy.ego.points_in_lidar - scene.ego.points_in_lidar)
    assert 0.9 * ROUNDING < apart[:, :3].max() <= ROUNDING + 1e-5
    assert (apart[:, 3] == 0).all()


@pytest.mark.thorough
def test_a_silent_partner_sends_nothing_and_others_are_heard(scene: CooperativeScene) -> None:
    for scheme, sizes in (("late", 0), ("early", 0)):
        silent = applied(SilentPartners(), scene, {"partner": 1.0})
        first, second = build_partner_messages(system(scheme), silent)
        assert first.size_bytes == sizes
        assert second.size_bytes > 0
    first, _ = build_partner_messages(
        system("fcooper"), applied(SilentPartners(), scene, {"partner": 1.0})
    )
    assert isinstance(first.payload, Features)
    assert not first.payload.maps[0].any()


def measured(
    relation: MetamorphicRelation, scheme: str, scene: CooperativeScene, changed: CooperativeScene
) -> float:
    """Return the value of a relation on the answers of a shipped system."""
    source, follow = ask_system(system(scheme), scene), ask_system(system(scheme), changed)
    measure = relation.measure(source, follow, NOTHING_CHANGED)
    assert measure.exposed > 0
    return measure.value


BITS = EqualAnswer(name="bits")
RELATIONS = {relation.name: relation for relation in make_equal_relations()}


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["late", "fcooper"])
def test_shipped_systems_satisfy_the_exact_relations(scheme: str, scene: CooperativeScene) -> None:
    """R1 to R5, for late fusion and for the strongest feature: nothing depends on what it must not.

    Points far away changed answers when points were shuffled before those outside were left out.
    """
    stray = applied(StrayPointsOperator("both"), scene, {"count": 1000.0})
    assert measured(RELATIONS["R1_stray_points"], scheme, scene, stray) == 0
    other_order = applied(ReorderedPartners(), scene, {})
    assert measured(RELATIONS["R2_partners"], scheme, scene, other_order) == 0
    shuffled = applied(ReorderedPoints(), scene, {})
    assert measured(RELATIONS["R2_points"], scheme, scene, shuffled) == 0
    moved = applied(MovedWorld(), scene, {"x": 317.3, "y": -411.7, "yaw": 77.0})
    assert measured(RELATIONS["R3_moved_world"], scheme, scene, moved) == 0
    for operator in (SilentPartners("all"), AbsentPartners("all")):
        assert measured(AsAlone(), scheme, scene, applied(operator, scene, {})) == 0
    absent, silent = (
        applied(one, scene, {"partner": 1.0}) for one in (AbsentPartners(), SilentPartners())
    )
    assert measured(RELATIONS["R4_silent"], scheme, absent, silent) == 0
    twice = applied(DuplicateMessages(), scene, {"partner": 1.0})
    assert measured(RELATIONS["R5_duplicate"], scheme, scene, twice) == 0


@pytest.mark.thorough
def test_early_fusion_depends_on_order_by_rounding_alone_and_on_points_sent_twice(
    scene: CooperativeScene,
) -> None:
    """Sums of a pillar's points are rounded in their order; each point twice weighs twice."""
    for operator in (ReorderedPartners(), ReorderedPoints()):
        changed = applied(operator, scene, {})
        assert measured(RELATIONS["R2_points"], "early", scene, changed) == 0
    twice = applied(DuplicateMessages(), scene, {"partner": 1.0})
    assert measured(BITS, "early", scene, twice) > 0


def test_attention_hears_a_silent_partner(scene: CooperativeScene) -> None:
    """Maps of zeros take part in the mean: R4 is broken by a silent partner, not an absent one."""
    assert measured(AsAlone(), "attfuse", scene, applied(AbsentPartners("all"), scene, {})) == 0
    assert measured(AsAlone(), "attfuse", scene, applied(SilentPartners("all"), scene, {})) > 0


def test_a_network_is_not_symmetric(scene: CooperativeScene) -> None:
    """R10 is no exact relation: but more of the mirrored boxes are there than not."""
    mirror = applied(MirroredWorld(), scene, {})
    assert 0 <= measured(MirroredAnswer(), "late", scene, mirror) < 0.5
