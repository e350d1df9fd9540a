"""Pure functions of radio: airtime, transport blocks, path loss, noise, errors, scheduling."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.channel.links.airtime import (
    NR_SMALL_BLOCKS,
    compute_lte_transport_bits,
    compute_nr_transport_bits,
    compute_ofdm_airtime,
    count_lte_blocks,
    is_transform_size,
    plan_blocks,
    plan_frames,
)
from harness.channel.links.error_rate import (
    LTE_CURVES,
    OFDM_CURVES,
    ErrorStep,
    build_curve,
    compute_lte_threshold,
    compute_nr_threshold,
    compute_threshold,
    scale_errors,
)
from harness.channel.links.noise import compute_noise_level, compute_sinr, convert_to_milliwatts
from harness.channel.links.propagation import (
    compute_los_loss,
    compute_los_probability,
    compute_nlos_loss,
    compute_path_loss,
    compute_vehicle_mean,
    compute_winner_b1_loss,
    convert_lognormal,
    convert_normal_to_vehicle_loss,
    correlate_shadowing,
    get_shadowing_deviation,
)
from harness.common.errors import UserError


@pytest.mark.parametrize(
    ("size", "mcs", "microseconds"),
    [(190, 0, 560), (190, 2, 304), (300, 2, 448), (350, 2, 512), (1500, 7, 488), (1000, 4, 712)],
)
def test_a_frame_takes_preamble_and_symbols(size: int, mcs: int, microseconds: float) -> None:
    """By hand: 40 µs, and 8 µs for every N_DBPS of 22 + 8B bits."""
    assert compute_ofdm_airtime(size, mcs) == pytest.approx(microseconds * 1e-6)


@pytest.mark.parametrize(
    ("blocks", "mcs", "spacing", "size"),
    [
        *((50, 7, 15, 704), (50, 11, 15, 1024), (50, 21, 15, 2562)),
        *((100, 7, 15, 1473), (100, 11, 15, 2112), (100, 21, 15, 5252)),
        *((50, 11, 30, 1089), (50, 21, 30, 2688)),
    ],
)
def test_a_slot_of_nr_carries_what_the_clauses_give(
    blocks: int, mcs: int, spacing: int, size: int
) -> None:
    """Bytes computed apart from this code, by the functions of WiLabV2Xsim for these clauses."""
    assert compute_nr_transport_bits(blocks, mcs, spacing) == 8 * size


def test_small_transport_blocks_are_the_93_of_the_standard() -> None:
    assert len(NR_SMALL_BLOCKS) == 93
    assert NR_SMALL_BLOCKS[-1] == 3824
    assert all(np.diff(NR_SMALL_BLOCKS) > 0)


def test_a_subframe_of_lte_leaves_two_blocks_for_control() -> None:
    assert [count_lte_blocks(blocks) for blocks in range(10, 60, 10)] == [8, 18, 27, 36, 48]
    assert compute_lte_transport_bits(50, 7) == 8 * 749
    assert compute_lte_transport_bits(100, 20) == 8 * 5072
    assert [count for count in range(1, 31) if not is_transform_size(count)] == [
        *(7, 11, 13, 14, 17, 19, 21, 22, 23, 26, 28, 29)
    ]


def test_messages_are_cut_into_packets() -> None:
    frames = plan_frames(250_000, mcs=2, largest=1350, headers=50)
    assert frames.fragments == math.ceil(250_000 / 1350) == 186
    last = 250_000 - 185 * 1350
    expected = 185 * compute_ofdm_airtime(1400, 2) + compute_ofdm_airtime(last + 50, 2)
    assert frames.airtime == pytest.approx(expected)
    carried = (145, 372, 592, 808, 1024)
    small = plan_blocks(300, carried, slot=1e-3, headers=50, copies=2)
    assert (small.fragments, small.subchannels, small.airtime) == (1, 2, 2e-3)
    large = plan_blocks(2_000_000, carried, slot=1e-3, headers=50, copies=1)
    assert (large.fragments, large.subchannels) == (math.ceil(2e6 / 974), 5)
    assert plan_blocks(0, carried, slot=1e-3, headers=50, copies=1).fragments == 1
    with pytest.raises(UserError, match="headers take 50 B"):
        plan_blocks(1, (20, 40), slot=1e-3, headers=50, copies=1)


def test_path_losses_at_100_m_are_those_of_the_formulas() -> None:
    """Values by hand, at 5.9 GHz: 20 lg 5.9 = 15.417."""
    far = np.array([100.0])
    assert compute_los_loss(far, 5.9, "highway") == pytest.approx(32.4 + 40 + 15.417, abs=1e-3)
    assert compute_los_loss(far, 5.9, "urban") == pytest.approx(86.1995, abs=1e-3)
    assert compute_nlos_loss(far, 5.9) == pytest.approx(111.419, abs=1e-3)
    assert compute_winner_b1_loss(far, 5.9) == pytest.approx(100.06, abs=5e-3)
    # the two slopes of WINNER+ B1 meet at the breakpoint of 19.67 m
    below, above = compute_winner_b1_loss(np.array([19.66, 19.68]), 5.9)
    assert above - below == pytest.approx(0.0, abs=0.5)
    assert compute_path_loss(far, "NLOS", "urban", model="winner_b1", frequency=5.9) == (
        compute_nlos_loss(far, 5.9)
    )


def test_shadowing_of_etsi_is_wider() -> None:
    assert get_shadowing_deviation("LOS", "highway", "tr37885") == 3.0
    assert get_shadowing_deviation("NLOS", "urban", "tr37885") == 4.0
    assert get_shadowing_deviation("LOS", "urban", "tr103257") == 5.2
    assert get_shadowing_deviation("NLOS", "urban", "tr103257") == 6.8


def test_loss_by_vehicles_has_mean_and_deviation_of_the_standard() -> None:
    low, mixed, high = (1.5, 1.5), (1.5, 4.0), (4.0, 4.0)
    assert compute_vehicle_mean(100.0, low, 3.0) == 9.0
    assert compute_vehicle_mean(100.0, mixed, 3.0) == 5.0
    assert compute_vehicle_mean(100.0, high, 3.0) == 0.0
    # 15 lg d exceeds 41 from 541 m on
    assert compute_vehicle_mean(1000.0, low, 3.0) == pytest.approx(9.0 + 4.0)
    normals = np.random.default_rng(1).standard_normal(20_000)
    losses = [convert_normal_to_vehicle_loss(float(n), 100.0, low, 3.0) for n in normals]
    # within four standard errors of the mean, and 5 % of the deviation
    assert np.mean(losses) == pytest.approx(9.0, abs=4 * 4.5 / math.sqrt(len(losses)))
    assert np.std(losses) == pytest.approx(4.5, rel=0.05)
    centre, spread = convert_lognormal(5.0, 4.0)
    assert math.exp(centre + spread**2 / 2) == pytest.approx(5.0)
    assert convert_normal_to_vehicle_loss(3.0, 100.0, high, 3.0) == 0.0


def test_shadowing_is_correlated_by_distance() -> None:
    """After 10 m of a decorrelation distance of 10 m the correlation is 1/e."""
    random = np.random.default_rng(2)
    before = random.standard_normal(40_000)
    after = correlate_shadowing(before, np.full(40_000, 10.0), 10.0, random.standard_normal(40_000))
    assert np.corrcoef(before, after)[0, 1] == pytest.approx(math.exp(-1), abs=4 / 200)
    assert np.std(after) == pytest.approx(1.0, abs=0.02)
    still = correlate_shadowing(before, np.zeros(40_000), 10.0, random.standard_normal(40_000))
    assert np.array_equal(still, before)


def test_sight_is_rarer_with_distance() -> None:
    distances = np.array([0.0, 100.0, 475.0, 1000.0])
    highway = compute_los_probability(distances, "highway")
    assert highway == pytest.approx([1.0, 0.840313, 0.543406, 0.015], abs=1e-3)
    assert compute_los_probability(distances, "urban")[1] == pytest.approx(1.05 * math.exp(-1.14))


def test_noise_is_thermal() -> None:
    """-174 dBm/Hz, 70 dB of 10 MHz, and the noise figure."""
    assert compute_noise_level(10.0, 9.0) == pytest.approx(-174 + 70 + 9, abs=0.03)
    signal = convert_to_milliwatts(-80.0)
    noise = float(convert_to_milliwatts(-95.0))
    assert 10 * np.log10(compute_sinr(signal, np.zeros(1), noise)) == pytest.approx(15.0)


def test_curves_pass_through_their_points() -> None:
    for curves in (OFDM_CURVES, LTE_CURVES):
        for (mcs, sight), (first, errors) in curves.items():
            rate = build_curve(curves, mcs, sight)
            at = first + np.arange(len(errors), dtype=np.float64)
            assert rate.compute_errors(at) == pytest.approx(errors)
            assert np.all(np.diff(rate.compute_errors(np.linspace(-20, 40, 500))) <= 0)
            assert rate.compute_errors(-30.0) == 1.0
            assert rate.compute_errors(40.0) < 1e-6
    with pytest.raises(UserError, match="no published curve; valid: 0, 2, 4"):
        build_curve(OFDM_CURVES, 7, "LOS")


@pytest.mark.parametrize(
    ("size", "sinr", "published"),
    [(190, 0.0, 0.7020), (190, 2.0, 0.2122), (550, 1.0, 0.5738), (550, 3.0, 0.1366)],
)
def test_errors_of_other_sizes_are_near_the_published_ones(
    size: int, sinr: float, published: float
) -> None:
    """Curves of MCS 2 for 190 and 550 B, published with that for 350 B."""
    errors = build_curve(OFDM_CURVES, 2, "LOS").compute_errors(sinr)
    assert scale_errors(errors, size) == pytest.approx(published, abs=0.03)


def test_thresholds_invert_shannon() -> None:
    assert compute_threshold(1.0, 1.0) == pytest.approx(0.0)
    # by hand: MCS 11 of NR has 1.378 bit/s/Hz, 2984 bits in 24 blocks of LTE have 1.209
    assert compute_nr_threshold(11) == pytest.approx(10 * math.log10(2**3.445 - 1), abs=0.01)
    assert compute_lte_threshold(2984, 24) == pytest.approx(10 * math.log10(2**3.022 - 1), abs=0.01)
    step = ErrorStep(5.0)
    assert step.compute_errors(np.array([4.9, 5.0, 5.1])).tolist() == [1.0, 0.0, 0.0]
