"""Arms: named factors, one name that reads back, and the factors in which arms differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.records.arms import Arm, in_order, label, meant, varying
from tests.records.test_keys import NAMES

OTHERS = st.dictionaries(st.sampled_from(["intervention", "weather", "z9"]), NAMES, max_size=3)
LATE = Arm.of(system="late", cooperation="ahead", condition="latency")
SINGLE = Arm.of(system="single")


@given(NAMES, NAMES, NAMES, OTHERS)
def test_an_arm_reads_back_from_its_name_and_its_folder(
    system: str, cooperation: str, condition: str, others: dict[str, str]
) -> None:
    arm = Arm.of(others, system=system, cooperation=cooperation, condition=condition)
    assert Arm.parse(str(arm)) == arm
    assert Arm.of_path(arm.path.parts) == arm
    assert Arm.of(dict(arm.factors)) == arm
    assert arm.values(others) == tuple(others.values())


@given(st.lists(st.tuples(NAMES, NAMES, NAMES, OTHERS), min_size=2, max_size=2))
def test_arms_that_differ_have_other_names_and_folders(
    two: list[tuple[str, str, str, dict[str, str]]],
) -> None:
    arms = {Arm.of(o, system=s, cooperation=w, condition=c) for s, w, c, o in two}
    assert len({str(arm) for arm in arms}) == len({arm.path for arm in arms}) == len(arms)


def test_names_are_read_by_place_and_others_by_name() -> None:
    assert (str(LATE), str(SINGLE)) == ("late/ahead/latency", "single/none/none")
    more = LATE.but(intervention="oracle", weather="none")
    assert str(more) == "late/ahead/latency/intervention=oracle"
    assert more["intervention"] == "oracle"
    assert (LATE["intervention"], LATE.but(intervention="none")) == ("none", LATE)
    assert str(LATE.but(condition="a/b=%")) == "late/ahead/a%2Fb=%25"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "late",
        "late/ahead",
        "late/ahead/none/x",
        "late/ahead/none/x=none",
        "a/b/c/X=1",
        "a/b/c/x=1/x=2",
        "a/b/c/system=late",
    ],
)
def test_what_is_no_arm_is_not_taken_for_one(text: str) -> None:
    with pytest.raises(ValueError, match="not an arm"):
        Arm.parse(text)


def test_a_factor_has_a_plain_name() -> None:
    for name in ("A", "a b", "", "a=b", "9", "x" * 41):
        with pytest.raises(ValueError, match="a factor's name"):
            Arm.of({name: "1"}, system="late")


def test_only_factors_that_differ_are_shown() -> None:
    one = [SINGLE, LATE, LATE.but(condition="none")]
    assert varying(one) == varying([]) == ("system", "condition")
    assert label(LATE, varying(one)) == "late / latency"
    two = [*one, LATE.but(cooperation="connected")]
    assert varying(two) == ("system", "cooperation", "condition")
    assert varying([*one, LATE.but(intervention="x")]) == ("system", "condition", "intervention")


def test_short_names_mean_an_arm_where_there_is_one() -> None:
    plain, other = LATE.but(condition="none"), LATE.but(cooperation="connected")
    arms = [SINGLE, LATE, plain, other]
    assert meant("late/ahead/latency", arms) == meant("late/ahead/latency", [LATE]) == [LATE]
    assert meant("late/latency", arms) == [LATE, other]
    assert meant("late/none", arms) == [plain]
    assert meant("single", arms) == meant("single/none", arms) == [SINGLE]
    assert meant("latency", arms) == meant("late/latency/ahead", arms) == []


def test_nothing_comes_before_something() -> None:
    arms = [LATE, LATE.but(condition="none"), LATE.but(condition="early"), SINGLE]
    pairs = [(arm.system, arm.condition) for arm in sorted(arms, key=in_order)]
    assert pairs == [("late", "none"), ("late", "early"), ("late", "latency"), ("single", "none")]
