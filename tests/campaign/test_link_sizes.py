"""The plan prints what radios make of messages, and what systems; links are plug-ins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crucible.check import check_plugin
from crucible.plugins import iter_shipped_rows
from harness.campaign.planning.compatibility import list_system_notes
from harness.campaign.planning.link_sizes import list_link_notes
from harness.channel.links.link import Carriage, Link
from harness.channel.links.sight import PathView
from harness.channel.messages.cpm import Cpm, PerceivedObject, encode_cpm
from harness.channel.messages.station import Position
from harness.checks.link import findings_of
from harness.types.vocabulary import VEHICLE, Message
from tests.campaign.tiny import composed
from tests.profiles import ONLY_WITH_ALL

ALL_SHARED = "system=[late,early,fcooper]"
"""Boxes, points and feature maps."""


def test_the_plan_says_which_messages_fit() -> None:
    """By hand: 2 MB in slots of 974 B are 2,054; a message comes every 0.2 s."""
    notes = list_link_notes(composed(ALL_SHARED, "link=[ideal,carla,nr_v2x]"))
    assert len(notes) == 3
    assert notes[0] == (
        "nr_v2x: 20 boxes, 660 B: 1 packet, 1 ms of air; fits into the 0.2 s between two messages"
    )
    assert "2,000,000 B: 2,054 packets, 2054 ms of air; does not fit: 10.3 times the" in notes[2]
    assert list_link_notes(composed()) == ()


@pytest.mark.parametrize(
    ("system", "content"),
    [("ideal_late", "20 boxes"), ("early", "a whole sweep"), ("fcooper", "a feature map")],
)
def test_the_plan_has_what_the_systems_share(system: str, content: str) -> None:
    (note,) = list_link_notes(composed(f"system={system}", "link=nr_v2x"))
    assert note.startswith(f"nr_v2x: {content}, ")


def test_systems_of_partners_count() -> None:
    fleet = ("system@partners.systems=[fcooper]", "partners.system.roadside=fcooper")
    boxes, features = list_link_notes(composed("system=late", *fleet, "link=nr_v2x"))
    assert "20 boxes" in boxes
    assert "a feature map" in features


def test_a_system_that_is_driven_as_none_unasked_is_named() -> None:
    """Only a disturbance of messages is named, and one system reads none."""
    both = "system=[ideal_single,ideal_late]"
    (note,) = list_system_notes(composed(both, "interference=[latency]"))
    assert note == "ideal_single reads no messages: it is driven as none, without latency"
    assert list_system_notes(composed(both, "interference=[none,latency]")) == ()
    assert list_system_notes(composed("system=ideal_late", "interference=[latency]")) == ()


def test_the_plan_has_the_bytes_of_the_formats_that_are_chosen() -> None:
    """By hand: 500,000 numbers of 50 x 100 x 100; a tenth of the cells, and a bit for each."""
    formats = "message_format=[native,cpm,eight_bits,top_k]"
    notes = list_link_notes(composed(ALL_SHARED, "link=nr_v2x", formats))
    assert len(notes) == 7
    cpm, many, eight, top = notes[3:]
    # as a partner of a campaign writes them
    assert cpm.startswith(f"nr_v2x: 20 boxes, cpm, {size_of_cpm(20)} B: 1 packet")
    # two segments repeat station, time and position, and do without the sensor
    again = size_of_cpm(0) - 20, size_of_cpm(0)
    size = int(many.removeprefix("nr_v2x: 100 boxes, cpm, ").split(" B")[0].replace(",", ""))
    assert size_of_cpm(100) + 2 * again[0] < size < size_of_cpm(100) + 2 * again[1]
    # of 1100 B at most: two packets of 974 B each for two of them
    assert "B in 3 segments: 5 packets, 5 ms of air" in many
    assert f"a feature map, eight_bits, {1 + 7 + 8 + 500_000:,} B: 514 packets" in eight
    assert f"a feature map, top_k, {1 + 7 + 1250 + 4 * 50 * 1000:,} B: 207 packets" in top
    assert "does not fit: 1.035 times" in top
    native = list_link_notes(composed(ALL_SHARED, "link=nr_v2x", "message_format=native"))
    assert len(native) == 3


def size_of_cpm(count: int) -> int:
    """Return the bytes of a CPM of so many cars by a vehicle, with its sensor."""
    car = PerceivedObject(
        object_id=0,
        east=5.0,
        north=3.0,
        up=0.0,
        yaw=-0.3,
        length=4.5,
        width=1.9,
        height=1.6,
        class_index=VEHICLE,
        confidence=0.8,
        velocity=None,
        age=0.0,
    )
    cpm = Cpm(
        station_id=1,
        time=700_000_000.0,
        position=Position(49.0, 8.0),
        orientation=0.0,
        objects=tuple(replace(car, object_id=number) for number in range(count)),
        perceived=count,
        sensor_range=70.0,
    )
    return len(encode_cpm(cpm))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    [
        "cellular:NrLink",
        pytest.param("cellular:LteLink", marks=ONLY_WITH_ALL),
        "its_g5:ItsG5Link",
    ],
)
def test_our_radios_pass_the_check(name: str) -> None:
    kind, findings = check_plugin(f"harness.channel.links.{name}")
    assert kind == "a link"
    assert {finding.verdict for finding in findings} == {"passed"}


def test_links_are_listed_as_plugins() -> None:
    (row,) = [row for row in iter_shipped_rows() if row.kind == "a link"]
    assert row.name == "carla, ideal, itsg5, lte_v2x, nr_v2x, trace"


class Forgetful(Link):
    """A link that remembers earlier attempts: its reset forgets nothing."""

    def __init__(self, delay: float = 0.0) -> None:
        super().__init__()
        self.delay, self.sent = delay, 0

    def make_carriage(self, message: Message, view: PathView | None) -> Carriage:
        self.sent += 1
        return Carriage(
            sender=message.sender,
            frame=message.capture_frame,
            time=message.capture_time,
            size_bytes=message.size_bytes,
            delay=self.delay if self.delay < 0 else 0.01 * self.sent,
        )


def test_a_link_that_remembers_or_is_early_fails_the_check() -> None:
    outcomes = {finding.check: finding.verdict for finding in findings_of(Forgetful)}
    assert outcomes == {"runs": "passed", "deterministic": "passed", "seed": "failed"}
    early = findings_of(lambda: Forgetful(-1.0))
    assert early[0].verdict == "failed"
