"""Compressed features: what is sent, what is read, and how many bytes it takes."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agents.perception.fusion.base import SparseFeatures
from harness.channel.interference.bandwidth import Bandwidth
from harness.channel.interference.feature_corruption import Scattered
from harness.channel.links.cellular import NrLink
from harness.channel.messages.compressed_features import CompressedFeatures
from harness.channel.messages.feature_bytes import (
    decode_features,
    encode_features,
    select_largest_cells,
)
from harness.common.errors import AttemptError, UserError
from harness.types.vocabulary import Features, Kind, Singles
from tests.channel.episode import Episode, some_boxes, some_features
from tests.channel.test_radio_links import surround

CONF = Path(__file__).parents[2] / "conf" / "message_format"
PARTNER: tuple[tuple[str, Kind], ...] = (("roadside-0", "roadside"),)


def random_map(seed: int, shape: tuple[int, int, int], empty: float = 0.0) -> Singles:
    """Return a map with numbers of both signs, and a share of cells that are all zero."""
    random = np.random.default_rng(seed)
    made = random.normal(0.3, 2.0, shape).astype(np.float32)
    made[:, random.random(shape[1:]) < empty] = 0.0
    return made


@given(
    st.integers(0, 10_000),
    st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(1, 9)),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_eight_bits_are_off_by_half_a_step_at_most(
    seed: int, shape: tuple[int, int, int], empty: float
) -> None:
    """The bound: half of (greatest - least) / 255 of what is sent, and float32's rounding."""
    given_map = random_map(seed, shape, empty)
    (read,) = decode_features(encode_features([given_map], share=1.0, eight_bits=True))
    assert read.shape == given_map.shape
    assert read.dtype == np.float32
    sent = given_map[:, given_map.any(0)]
    spread = float(np.ptp(sent)) if sent.size else 0.0
    largest = float(np.abs(sent).max()) if sent.size else 0.0
    assert np.abs(read - given_map).max() <= spread / 255 / 2 + 1e-6 * largest
    # cells that are all zero are exactly that
    assert not read[:, ~given_map.any(0)].any()


@given(
    st.integers(0, 10_000),
    st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(1, 9)),
    st.sampled_from([0.01, 0.1, 0.37, 1.0]),
)
def test_the_largest_cells_are_kept_as_they_are(
    seed: int, shape: tuple[int, int, int], share: float
) -> None:
    given_map = random_map(seed, shape, empty=0.3)
    (read,) = decode_features(encode_features([given_map], share=share, eight_bits=False))
    norms = np.sqrt((given_map.astype(np.float64) ** 2).sum(0))
    kept = read.any(0)
    cells = norms.size
    assert kept.sum() == min(int(np.ceil(share * cells - 1e-9)), (norms > 0).sum())
    assert np.array_equal(read[:, kept], given_map[:, kept])
    assert not read[:, ~kept].any()
    if kept.any() and not kept.all():
        assert norms[kept].min() >= norms[~kept].max()


def test_of_equal_cells_the_first_are_kept() -> None:
    ones = np.ones((2, 3, 4), np.float32)
    assert select_largest_cells(ones, 0.25).ravel().tolist() == [True] * 3 + [False] * 9


def test_sizes_are_those_of_the_layout() -> None:
    """By hand: 1 byte, 7 for a map; 16 channels of 10 x 20 cells."""
    whole = random_map(1, (16, 10, 20))
    for share, eight_bits, expected in (
        (1.0, False, 1 + 7 + 4 * 16 * 200),
        (1.0, True, 1 + 7 + 8 + 16 * 200),
        (0.1, False, 1 + 7 + 25 + 4 * 16 * 20),
        (0.1, True, 1 + 7 + 25 + 8 + 16 * 20),
    ):
        octets = encode_features([whole], share=share, eight_bits=eight_bits)
        assert len(octets) == expected
    # numbers of the first map in eight bits, read by hand
    octets = encode_features([whole], share=1.0, eight_bits=True)
    least, step = struct.unpack(">ff", octets[8:16])
    assert least == whole.min()
    expected_map = least + np.frombuffer(octets[16:], np.uint8).reshape(16, 10, 20) * step
    assert np.abs(expected_map - whole).max() <= step / 2 + 1e-6


def test_no_map_and_a_constant_map_come_back() -> None:
    assert decode_features(encode_features([], share=1.0, eight_bits=True)) == ()
    constant = np.full((3, 2, 2), -0.7, np.float32)
    (read,) = decode_features(encode_features([constant], share=1.0, eight_bits=True))
    assert np.array_equal(read, constant)
    with pytest.raises(ValueError, match="of which"):
        decode_features(encode_features([constant], share=1.0, eight_bits=True) + b"x")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (np.full((1, 2, 2), np.nan, np.float32), "not finite"),
        (np.zeros((2, 2), np.float32), "shape"),
    ],
)
def test_what_is_no_feature_map_fails_the_attempt(wrong: Singles, words: str) -> None:
    with pytest.raises(AttemptError, match=words):
        encode_features([wrong], share=1.0, eight_bits=True)


@pytest.mark.parametrize("settings", [{"bits": 4}, {"share": 0.0}, {"share": 1.5}])
def test_bad_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(UserError, match=r"message_format\."):
        CompressedFeatures(**settings)  # type: ignore[arg-type]


def episode_with(
    made: CompressedFeatures | None, *disturbances: object, payload: object = some_features
) -> Episode:
    """Return an episode of one partner that sends features."""
    episode = Episode(*disturbances)  # type: ignore[arg-type]
    episode.channel.message_format = made
    episode.channel.reset(1, "route-4")
    return episode.run(6, payload=payload)  # type: ignore[arg-type]


def test_the_ego_is_given_what_was_decoded_and_records_have_its_bytes() -> None:
    made = CompressedFeatures(bits=8, share=0.5)
    episode = episode_with(made)
    octets = encode_features(some_features().maps, share=0.5, eight_bits=True)
    for (message,) in episode.given:
        assert isinstance(message.payload, Features)
        for read, expected in zip(message.payload.maps, decode_features(octets), strict=True):
            assert np.array_equal(read, expected)
        assert message.size_bytes == len(octets)
    records = episode.channel.audit.close_audit()
    assert {record.size_bytes for record in records} == {len(octets)}
    assert len(octets) < some_features().size_bytes / 6
    for row in made.rows:
        assert (row.kind, row.size_bytes) == ("features", len(octets))
        assert row.native_bytes == some_features().size_bytes
        assert (row.perceived, row.included) == (12 * 16 + 6 * 8, 96 + 24)
    # compression is no disturbance
    assert episode.channel.audit.tally.effects.none
    episode.channel.audit.verify_deliveries()


def test_whole_maps_in_float32_are_what_was_shared() -> None:
    """The null arm in values: nothing is left out and nothing is rounded."""
    for (message,), (plain,) in zip(
        episode_with(CompressedFeatures(bits=32)).given, episode_with(None).given, strict=True
    ):
        assert isinstance(message.payload, Features)
        assert isinstance(plain.payload, Features)
        pairs = zip(message.payload.maps, plain.payload.maps, strict=True)
        assert all(np.array_equal(one, other) for one, other in pairs)
        assert message.size_bytes == plain.size_bytes + 1 + 2 * 7


def test_a_class_of_features_stays_what_it_is() -> None:
    sparse = SparseFeatures(some_features().maps)
    (message,) = episode_with(CompressedFeatures(), payload=lambda: sparse).given[0]
    assert type(message.payload) is SparseFeatures
    assert message.size_bytes < sparse.size_bytes / 3


def test_corrupted_features_are_written_again_and_the_disturbance_is_measured() -> None:
    episode = episode_with(CompressedFeatures(), Scattered(0.5))
    assert episode.channel.audit.build_record()["disturbances"] == {"feature_corruption": 6}
    (message,) = episode.given[3]
    assert message.octets is not None
    assert isinstance(message.payload, Features)
    for read, sent in zip(message.payload.maps, decode_features(message.octets), strict=True):
        assert np.array_equal(read, sent)
    episode.channel.audit.verify_deliveries()


def test_fewer_bytes_are_sooner_there() -> None:
    """On a link of few bytes a second, delays are the bytes of the message over its rate."""
    rate = 100_000.0
    for made in (None, CompressedFeatures(bits=8), CompressedFeatures(bits=32, share=0.1)):
        episode = episode_with(made, Bandwidth(rate))
        record = episode.channel.audit.close_audit()[0]
        assert record.delay == pytest.approx(record.size_bytes / rate)


def test_links_get_the_bytes_that_are_sent() -> None:
    plans = []
    for made in (None, CompressedFeatures(bits=8)):
        episode = Episode()
        episode.channel.link = NrLink(stations=0)
        episode.channel.message_format = made
        episode.channel.reset(1, "route-4")
        episode.channel.link.note_surroundings(surround())
        episode.step(PARTNER, some_features)
        (carriage,) = episode.channel.link.carriages
        assert carriage.size_bytes == episode.channel.audit.close_audit()[0].size_bytes
        plans.append(carriage)
    assert plans[1].fragments < plans[0].fragments
    assert plans[1].airtime < plans[0].airtime


def test_boxes_are_refused() -> None:
    with pytest.raises(AttemptError, match="sends Boxes"):
        episode_with(CompressedFeatures(), payload=some_boxes)


def test_shipped_settings_are_those_of_their_names() -> None:
    eight, top = (
        yaml.safe_load((CONF / f"{name}.yaml").read_text())[name]
        for name in ("eight_bits", "top_k")
    )
    assert (eight["bits"], eight["share"]) == (8, 1.0)
    assert (top["bits"], top["share"]) == (32, 0.1)
