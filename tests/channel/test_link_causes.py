"""Causes of a radio one by one, and the other stations where a share of vehicles is connected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.channel.links.cellular import LteLink, NrLink
from harness.channel.links.its_g5 import ItsG5Link
from harness.channel.links.link import Carriage
from harness.channel.links.radio import RadioLink
from harness.channel.links.stations import OtherStations
from tests.channel.test_sidelink import drive

OFF: dict[str, bool] = {"with_loss": False, "with_airtime": False, "with_queue": False}


def carry(
    make: Callable[..., RadioLink], *acting: str, distance: float, size: int
) -> list[Carriage]:
    """Return what becomes of messages at a distance at which some are lost."""
    switches: dict[str, Any] = {**OFF, **{f"with_{cause}": True for cause in acting}}
    return drive(make(**switches, stations=30, propagation="winner_b1"), distance, size).carriages


@pytest.mark.parametrize(
    ("make", "distance", "size"),
    [(NrLink, 250.0, 300), (LteLink, 350.0, 300), (ItsG5Link, 350.0, 300), (NrLink, 250.0, 20_000)],
)
def test_causes_act_alone_and_all_are_the_radio(
    make: Callable[..., RadioLink], distance: float, size: int
) -> None:
    sent: dict[str, Any] = {"distance": distance, "size": size}
    whole = carry(make, "loss", "airtime", "queue", **sent)
    late = carry(make, "airtime", **sent)
    waiting = carry(make, "queue", **sent)
    lossy = carry(make, "loss", **sent)
    nothing = carry(make, **sent)
    assert any(one.lost for one in whole)
    for number, full in enumerate(whole):
        unsent = np.isnan(full.queue)
        assert nothing[number].delay == lossy[number].delay == 0.0
        assert not nothing[number].lost
        assert not late[number].lost
        # what is not sent has waited too long
        assert waiting[number].lost == unsent
        assert full.lost == (lossy[number].lost or unsent)
        if not unsent:
            assert late[number].delay == full.airtime > 0
            assert waiting[number].delay + late[number].delay == pytest.approx(full.delay)
            assert waiting[number].delay >= full.queue - 1e-9
        # what is on the air is the same, whatever acts
        assert full.power == nothing[number].power
        assert full.busy == nothing[number].busy


@settings(max_examples=20)
@given(st.integers(1, 60), st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted), st.integers(0))
def test_stations_of_a_small_share_are_among_those_of_a_larger_one(
    count: int, shares: list[float], seed: int
) -> None:
    budget = NrLink().budget
    few, many = (OtherStations(budget, count, 500.0, seed=seed, share=share) for share in shares)
    kept = len(few.places)
    assert kept == round(count * shares[0])
    assert np.array_equal(few.places, many.places[:kept])
    assert np.array_equal(few.among, many.among[:kept, :kept])
    place = np.array([30.0, 2.0])
    assert np.array_equal(few.receive_at(place, "a"), many.receive_at(place, "a")[:kept])


@pytest.mark.parametrize("make", [NrLink, ItsG5Link])
def test_the_channel_is_busier_where_more_vehicles_are_connected(
    make: Callable[..., RadioLink],
) -> None:
    busy = {}
    for share in (0.1, 0.5, 1.0):
        link = make(stations=40)
        link.station_share = share
        busy[share] = float(np.mean([one.busy for one in drive(link, 50.0, 300).carriages]))
    assert busy[0.1] < busy[0.5] < busy[1.0]
    plain = [one.busy for one in drive(make(stations=40), 50.0, 300).carriages]
    assert busy[1.0] == float(np.mean(plain))
