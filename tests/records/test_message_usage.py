"""When an arm shows what it is called after, and when it is an error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.records.message_usage import COUNTS, MessageUsage, find_arm_fault

UNDISTURBED = MessageUsage(
    reads=True, sent=50, used=50, different=False, silence_asked=False, disturbances={}
)
LATE = MessageUsage(
    reads=True, sent=50, used=47, different=True, silence_asked=False, disturbances={"latency": 47}
)
NO_PARTNER = MessageUsage(
    reads=True, sent=0, used=0, different=False, silence_asked=False, disturbances={}
)
TOO_SHORT = MessageUsage(
    reads=True, sent=3, used=0, different=True, silence_asked=False, disturbances={"latency": 0}
)
IN_VAIN = MessageUsage(
    reads=True, sent=50, used=50, different=False, silence_asked=False, disturbances={"loss": 0}
)
SILENT = MessageUsage(
    reads=True, sent=50, used=0, different=True, silence_asked=True, disturbances={"loss": 50}
)
ALONE = MessageUsage(
    reads=False, sent=0, used=0, different=False, silence_asked=False, disturbances={}
)


@pytest.mark.parametrize(
    "arm",
    [
        [UNDISTURBED],
        [UNDISTURBED, NO_PARTNER],
        [LATE, TOO_SHORT, TOO_SHORT],
        [LATE, replace(NO_PARTNER, disturbances={"latency": 0})],
        [IN_VAIN, replace(IN_VAIN, different=True, disturbances={"loss": 1})],
        [SILENT, replace(SILENT, sent=0, silence_asked=False, disturbances={"loss": 0})],
        [ALONE, ALONE],
        [],
    ],
)
def test_an_arm_that_is_what_it_is_called(arm: list[MessageUsage]) -> None:
    assert find_arm_fault(arm) is None


@pytest.mark.parametrize(
    ("arm", "fault"),
    [
        ([NO_PARTNER], "the system was given no message in its one attempt"),
        ([NO_PARTNER, NO_PARTNER], "the system was given no message in all of its 2 attempts"),
        ([TOO_SHORT, TOO_SHORT], "the system was given no message in all of its 2 attempts"),
        ([SILENT, TOO_SHORT], "the system was given no message in all of its 2 attempts"),
        (
            [IN_VAIN, IN_VAIN, IN_VAIN],
            "loss made no difference to what the system was given in all of its 3 attempts",
        ),
        (
            [replace(LATE, disturbances={"latency": 47, "ghosts": 0})],
            "ghosts made no difference to what the system was given in its one attempt",
        ),
        (
            [replace(LATE, different=False)],
            "nothing that the system was given was different in its one attempt",
        ),
    ],
)
def test_an_arm_that_is_not(arm: list[MessageUsage], fault: str) -> None:
    assert find_arm_fault(arm) == fault


def test_an_attempt_that_reads_nothing_lacks_nothing() -> None:
    assert [usage.without_messages for usage in (NO_PARTNER, TOO_SHORT, SILENT, LATE, ALONE)] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert [usage.undisturbed for usage in (IN_VAIN, LATE, UNDISTURBED, TOO_SHORT)] == [
        True,
        False,
        False,
        False,
    ]


def record(**changes: Any) -> dict[str, Any]:
    """Return as much of a result as says what was heard."""
    counts = {"sent": 9, "used": 7, "uses": 8, "late": 8, "displaced": 0, "changed": 0}
    usage = {"reads": True, **counts, "missing": 0, "silence_asked": False}
    return {"crucible": {"messages": {**usage, "disturbances": {"latency": 7}, **changes}}}


def test_read_from_a_result() -> None:
    assert MessageUsage.from_result(record()) == MessageUsage(
        reads=True, sent=9, used=7, different=True, silence_asked=False, disturbances={"latency": 7}
    )
    assert not MessageUsage.from_result(record(late=0)).different


@pytest.mark.parametrize(
    "changes", [{"used": -1}, {"late": 1.5}, {"sent": True}, {"disturbances": {"x": None}}]
)
def test_what_is_no_count_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is no count"):
        MessageUsage.from_result(record(**changes))


def test_changed_sweeps_are_a_difference() -> None:
    record: dict[str, Any] = dict.fromkeys(COUNTS, 0)
    record |= {"reads": True, "used": 5, "silence_asked": False, "disturbances": {"rain": 5}}
    assert MessageUsage.from_result({"crucible": {"messages": record}}).undisturbed
    assert not MessageUsage.from_result(
        {"crucible": {"messages": {**record, "sensed": 5}}}
    ).undisturbed
    with pytest.raises(ValueError, match="is no count"):
        MessageUsage.from_result({"crucible": {"messages": {**record, "sensed": -1}}})
