"""Arms: named factors, one name that reads back, and the factors in which arms differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.records.arms import (
    Arm,
    find_meant_arms,
    format_arm_label,
    list_varying_factors,
    make_arm_sort_key,
    rank_system,
)
from tests.records.test_keys import NAMES

OTHERS = st.dictionaries(st.sampled_from(["intervention", "weather", "z9"]), NAMES, max_size=3)
LATE = Arm.from_factors(system="late", cooperation="ahead", condition="latency")
SINGLE = Arm.from_factors(system="single")


@given(NAMES, NAMES, NAMES, OTHERS)
def test_an_arm_reads_back_from_its_name_and_its_folder(
    system: str, cooperation: str, condition: str, others: dict[str, str]
) -> None:
    arm = Arm.from_factors(others, system=system, cooperation=cooperation, condition=condition)
    assert Arm.parse_name(str(arm)) == arm
    assert Arm.from_path(arm.path.parts) == arm
    assert Arm.from_factors(dict(arm.factors)) == arm
    assert arm.get_values(others) == tuple(others.values())


@given(st.lists(st.tuples(NAMES, NAMES, NAMES, OTHERS), min_size=2, max_size=2))
def test_arms_that_differ_have_other_names_and_folders(
    two: list[tuple[str, str, str, dict[str, str]]],
) -> None:
    arms = {Arm.from_factors(o, system=s, cooperation=w, condition=c) for s, w, c, o in two}
    assert len({str(arm) for arm in arms}) == len({arm.path for arm in arms}) == len(arms)


def test_names_are_read_by_place_and_others_by_name() -> None:
    assert (str(LATE), str(SINGLE)) == ("late/ahead/latency", "single/none/none")
    more = LATE.replace_factors(intervention="oracle", weather="none")
    assert str(more) == "late/ahead/latency/intervention=oracle"
    assert more["intervention"] == "oracle"
    assert (LATE["intervention"], LATE.replace_factors(intervention="none")) == ("none", LATE)
    assert str(LATE.replace_factors(condition="a/b=%")) == "late/ahead/a%2Fb=%25"


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
        Arm.parse_name(text)


def test_a_factor_has_a_plain_name() -> None:
    for name in ("A", "a b", "", "a=b", "9", "x" * 41):
        with pytest.raises(ValueError, match="a factor's name"):
            Arm.from_factors({name: "1"}, system="late")


def test_only_factors_that_differ_are_shown() -> None:
    one = [SINGLE, LATE, LATE.replace_factors(condition="none")]
    assert list_varying_factors(one) == list_varying_factors([]) == ("system", "condition")
    assert format_arm_label(LATE, list_varying_factors(one)) == "late / latency"
    two = [*one, LATE.replace_factors(cooperation="connected")]
    assert list_varying_factors(two) == ("system", "cooperation", "condition")
    assert list_varying_factors([*one, LATE.replace_factors(intervention="x")]) == (
        "system",
        "condition",
        "intervention",
    )


def test_short_names_mean_an_arm_where_there_is_one() -> None:
    plain, other = (
        LATE.replace_factors(condition="none"),
        LATE.replace_factors(cooperation="connected"),
    )
    arms = [SINGLE, LATE, plain, other]
    assert (
        find_meant_arms("late/ahead/latency", arms)
        == find_meant_arms("late/ahead/latency", [LATE])
        == [LATE]
    )
    assert find_meant_arms("late/latency", arms) == [LATE, other]
    assert find_meant_arms("late/none", arms) == [plain]
    assert find_meant_arms("single", arms) == find_meant_arms("single/none", arms) == [SINGLE]
    assert find_meant_arms("latency", arms) == find_meant_arms("late/latency/ahead", arms) == []


def test_nothing_comes_before_something() -> None:
    arms = [
        LATE,
        LATE.replace_factors(condition="none"),
        LATE.replace_factors(condition="early"),
        SINGLE,
    ]
    pairs = [(arm.system, arm.condition) for arm in sorted(arms, key=make_arm_sort_key)]
    assert pairs == [("single", "none"), ("late", "none"), ("late", "early"), ("late", "latency")]


def test_systems_stand_alone_late_early_intermediate_theirs_ideal() -> None:
    names = ["oracle", "ideal_late", "mine", "v2xvit", "early", "late", "ideal_single", "single"]
    order = ["single", "late", "early", "v2xvit", "mine", "ideal_single", "ideal_late", "oracle"]
    assert sorted(names, key=rank_system) == order
