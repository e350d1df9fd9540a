"""Which message a system is given: the rule, against a slow one written from its words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.channel.disturbance import Disturbance
from harness.channel.interference.latency import Fixed
from harness.types.vocabulary import Kind, Message
from tests.channel.episode import BEGAN, FIRST_FRAME, PERIOD, TICKS, Episode, time_of

NAMES: tuple[tuple[str, Kind], ...] = (
    ("roadside-0", "roadside"),
    ("vehicle-1", "vehicle"),
    ("vehicle-2", "vehicle"),
)
DELAYS = st.one_of(
    st.sampled_from([0.0, 0.2, 0.4, 0.6, 1.0, 2.0]),
    st.floats(0.0, 3.0, allow_nan=False),
)


class Listed(Disturbance):
    """Delays from a list, and losses where the list has none."""

    name = "listed"

    def __init__(self, listed: dict[tuple[str, int], float | None]) -> None:
        super().__init__()
        self.listed = listed

    def delay(self, message: Message) -> float:
        return self._of(message) or 0.0

    def loses(self, message: Message) -> bool:
        return self._of(message) is None

    def inert(self) -> str | None:
        return None

    def _of(self, message: Message) -> float | None:
        return self.listed[message.sender, (message.capture_frame - FIRST_FRAME) // TICKS]


def slow_rule(
    listed: dict[tuple[str, int], float | None],
    present: Sequence[set[str]],
    step: int,
    maximum_age: float,
) -> set[tuple[str, int]]:
    """Return sender and step of capture of what is to be given, straight from the definition."""
    now = time_of(step)
    chosen = set()
    for sender in present[step]:
        usable = [
            captured
            for captured in range(step + 1)
            if sender in present[captured]
            and (delay := listed[sender, captured]) is not None
            and time_of(captured) + delay <= now + 1e-6
        ]
        if usable and now - time_of(max(usable)) <= maximum_age + 1e-6:
            chosen.add((sender, max(usable)))
    return chosen


@pytest.mark.thorough
@given(st.data(), st.integers(1, 20))
def test_the_rule_is_the_slow_rule_and_the_door_agrees(data: st.DataObject, steps: int) -> None:
    senders = [name for name, _ in NAMES]
    listed = {
        (sender, step): data.draw(st.one_of(st.none(), DELAYS, DELAYS))
        for sender in senders
        for step in range(steps)
    }
    present = [set(data.draw(st.lists(st.sampled_from(senders)))) for _ in range(steps)]
    episode = Episode(Listed(listed))
    for step in range(steps):
        messages = episode.step([name for name in NAMES if name[0] in present[step]])
        delivered = {
            (message.sender, (message.capture_frame - FIRST_FRAME) // TICKS) for message in messages
        }
        assert delivered == slow_rule(listed, present, step, episode.channel.maximum_age)
    episode.channel.audit.verify_deliveries()


def test_without_interference_messages_are_of_now() -> None:
    episode = Episode().run(5, NAMES)
    assert episode.ages() == [[0, 0, 0]] * 5
    episode.channel.audit.verify_deliveries()


@pytest.mark.parametrize(("delay", "late"), [(0.2, 1), (0.6, 3), (0.7, 4), (1e-3, 1)])
def test_a_fixed_delay_is_usable_from_the_next_step_on(delay: float, late: int) -> None:
    episode = Episode(Fixed(delay)).run(8)
    assert episode.ages() == [[]] * late + [[late]] * (8 - late)
    episode.channel.audit.verify_deliveries()
    record = episode.channel.audit.close_audit()[0]
    assert record.age_asked == pytest.approx(late * PERIOD)
    assert record.age_measured == pytest.approx(late * PERIOD)


def test_no_message_from_out_of_range() -> None:
    episode = Episode()
    near, gone = NAMES[:2], NAMES[:1]
    for partners in (near, gone, near):
        episode.step(partners)
    heard = [{message.sender for message in messages} for messages in episode.given]
    assert heard == [{"roadside-0", "vehicle-1"}, {"roadside-0"}, {"roadside-0", "vehicle-1"}]
    episode.channel.audit.verify_deliveries()


def test_a_partner_that_comes_back_late_leaves_nothing_stale() -> None:
    episode = Episode(Fixed(0.6))
    for _ in range(4):
        episode.step(NAMES)
    for _ in range(12):
        episode.step(())
    assert [episode.step(NAMES) for _ in range(3)] == [()] * 3
    assert len(episode.step(NAMES)) == len(NAMES)
    episode.channel.audit.verify_deliveries()


def test_fates() -> None:
    listed: dict[tuple[str, int], float | None] = {
        ("vehicle-1", 0): 0.5,  # overtaken by the next
        ("vehicle-1", 1): 0.2,
        ("vehicle-1", 2): None,
        ("vehicle-1", 3): 9.0,  # the episode ends before
    }
    episode = Episode(Listed(listed))
    for _ in range(4):
        episode.step(NAMES[1:2])
    assert episode.fates() == ["superseded", "delivered", "lost", "in_flight"]
    alone = Episode(Listed({("vehicle-1", 0): 0.2}))
    alone.step(NAMES[1:2])
    alone.step(())
    assert alone.fates() == ["unheard"]


def test_used_again_until_a_newer_one_arrives() -> None:
    listed = {("vehicle-1", step): None if step else 0.0 for step in range(15)}
    episode = Episode(Listed(listed)).run(15, NAMES[1:2])
    assert episode.ages() == [[step] for step in range(11)] + [[]] * 4
    assert episode.channel.audit.close_audit()[0].uses == 11
    assert episode.channel.audit.close_audit()[0].capture_time == BEGAN
