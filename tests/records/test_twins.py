"""Names of twins say how they differ, and are read back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.records.twins import TwinChange, list_attempt_twins
from tests.keys import key_of

words = st.text("abcdefghijklmnopqrstuvwxyz_-0123456789", min_size=1, max_size=8)
windows = st.lists(
    st.tuples(st.integers(0, 999), st.integers(1, 99)).map(lambda item: (item[0], sum(item))),
    min_size=1,
    max_size=5,
).map(tuple)
changes = st.builds(
    TwinChange, st.lists(words, max_size=3).map(tuple), st.none() | windows, st.integers(0, 9)
)


@given(words, changes)
def test_what_a_twin_is_called_reads_back(condition: str, change: TwinChange) -> None:
    name = change.format_condition(condition).removeprefix(condition)
    assert TwinChange.from_name(name) == change


@given(st.lists(changes, unique=True, max_size=5))
def test_an_attempts_twins_are_listed_among_others(wanted: list[TwinChange]) -> None:
    of = key_of("late", "latency", "7", 1)
    twins = {item: key_of("late", item.format_condition("latency"), "7", 1) for item in wanted}
    others = [
        key_of("late", "latency_and_pose_error without latency", "7", 1),
        key_of("late", "latency without latency", "8", 1),
        key_of("late", "latency without latency", "7", 2),
        key_of("early", "latency without latency", "7", 1),
        key_of("late", "latency within", "7", 1),
    ]
    assert list_attempt_twins(of, [*others, *twins.values()]) == twins
