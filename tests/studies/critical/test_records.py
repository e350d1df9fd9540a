"""Files of critical sizes: what they hold, what is censored, what is broken."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.common.errors import UserError
from harness.records.critical import (
    OutcomeFlip,
    PlaceboDrives,
    SearchedAttempt,
    get_sizes_path,
    read_critical,
    write_critical,
)
from harness.records.twins import TwinChange, list_attempt_twins
from tests.keys import key_of
from tests.studies.critical.little import sizes_with

KEY = key_of("late", "none", "1", 1)
NOTHING = PlaceboDrives(0, 0, 0)
Kinds = dict[float, str | None]


def searched(kinds: Kinds, *between: OutcomeFlip) -> SearchedAttempt:
    return SearchedAttempt(of=KEY, outcomes=kinds, flips=between)


def flip(low: float, high: float, into: bool, *sides: PlaceboDrives) -> OutcomeFlip:
    at_low, at_high = sides or (NOTHING, NOTHING)
    return OutcomeFlip(low=low, high=high, into=into, at_low=at_low, at_high=at_high)


@pytest.mark.parametrize(
    ("kinds", "interval"),
    [
        ({0.0: "", 0.4: "blocked"}, (0.0, 0.4)),
        ({0.0: "", 0.2: "", 0.4: "blocked", 0.8: ""}, (0.2, 0.4)),
        ({0.0: "blocked", 0.4: "", 0.8: "blocked"}, (-math.inf, 0.0)),
        ({0.0: "", 0.4: ""}, (0.4, math.inf)),
        ({0.0: "", 0.2: None, 0.4: "blocked"}, (0.0, 0.4)),
        ({0.0: None, 0.4: "", 0.8: "blocked"}, (0.4, 0.8)),
        ({0.0: "", 0.4: None}, (0.0, math.inf)),
        ({0.0: None}, None),
    ],
)
def test_the_first_violation_is_between_two_sizes(
    kinds: Kinds, interval: tuple[float, float] | None
) -> None:
    assert searched(kinds).interval == interval


def test_a_flip_is_confirmed_by_more_than_half_on_both_sides() -> None:
    for below, above, hits, confirmed in (
        (PlaceboDrives(0, 5, 5), PlaceboDrives(5, 5, 5), True, True),
        (PlaceboDrives(2, 5, 5), PlaceboDrives(3, 5, 5), True, True),
        (PlaceboDrives(3, 5, 5), PlaceboDrives(5, 5, 5), True, False),
        (PlaceboDrives(2, 4, 5), PlaceboDrives(4, 4, 5), True, False),
        (PlaceboDrives(0, 5, 5), PlaceboDrives(0, 0, 5), True, False),
        (PlaceboDrives(0, 0, 5), PlaceboDrives(5, 5, 5), True, False),
        (PlaceboDrives(5, 5, 5), PlaceboDrives(0, 5, 5), False, True),
        (PlaceboDrives(0, 5, 5), PlaceboDrives(5, 5, 5), False, False),
    ):
        assert flip(0.2, 0.4, hits, below, above).confirmed is confirmed


counts = st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)).map(sorted)
placebos = counts.map(lambda numbers: PlaceboDrives(*numbers))


@given(st.lists(st.sampled_from(["", "blocked", None]), min_size=1, max_size=9), st.data())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str | None], data: st.DataObject
) -> None:
    outcomes = {round(0.2 * number, 12): kind for number, kind in enumerate(kinds)}
    known = sorted(size for size, kind in outcomes.items() if kind is not None)
    between = tuple(
        flip(low, high, not outcomes[low], data.draw(placebos), data.draw(placebos))
        for low, high in pairwise(known)
        if bool(outcomes[low]) != bool(outcomes[high])
    )
    folder = tmp_path_factory.mktemp("written")
    written = sizes_with(searched(outcomes, *between))
    write_critical(folder, written)
    assert read_critical(folder, "latency") == written


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 2}, "another version"),
        ({"of": "loss"}, "another version or disturbance"),
        ({"finest": 0}, "finest is 0; a number > 0 is needed"),
        ({"finest": 10**400}, "finest is 1000"),
        ({"coarse": ["0"]}, "coarse is '0'; a number ≥ 0 is needed"),
        ({"coarse": [-1]}, "coarse is -1; a number ≥ 0 is needed"),
        ({"coarse": "x" * 10**6}, "coarse is 'xxxx"),
        ({"period": math.inf}, "period is inf; a number > 0 is needed"),
        ({"placebos": True}, "placebos is True; a whole number ≥ 0 is needed"),
        ({"searched": [{}]}, "outcomes is missing"),
        ({"searched": None}, "searched is None; a list is needed"),
        (
            {"searched": [{**KEY.to_record(), "outcomes": [{"size": 0, "violation": 3}]}]},
            "violation is 3; a word or null is needed",
        ),
    ],
)
def test_broken_files_are_one_line(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    write_critical(tmp_path, sizes_with(searched({0.0: "", 0.4: "blocked"}, flip(0.0, 0.4, True))))
    file = get_sizes_path(tmp_path, "latency")
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(UserError, match="not a file of critical sizes") as raised:
        read_critical(tmp_path, "latency")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < len(str(file)) + 150


def test_flips_at_unknown_sizes_and_impossible_placebos_are_refused(tmp_path: Path) -> None:
    for bad in (flip(0.0, 0.6, True), flip(0.0, 0.4, True, PlaceboDrives(2, 1, 1), NOTHING)):
        write_critical(tmp_path, sizes_with(searched({0.0: "", 0.4: "blocked"}, bad)))
        with pytest.raises(UserError, match="not a file of critical sizes"):
            read_critical(tmp_path, "latency")


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "critical").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="a link"):
        write_critical(tmp_path, sizes_with())
    assert not list((tmp_path / "elsewhere").iterdir())


def test_twins_of_sizes_are_none_of_an_attribution() -> None:
    keys = [
        key_of("late", condition, "1", 1)
        for condition in ("none with nothing", "none with latency=0.4 placebo pose 1", "none")
    ]
    assert list_attempt_twins(KEY, keys) == {TwinChange(): KEY}
