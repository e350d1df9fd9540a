"""Files of brackets: refused at once, by every reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agents.perception.published_settings import read_settings
from harness.common.errors import UserError
from harness.common.nesting import DEEPEST, NestingError, check_yaml, parse_json
from harness.records import reading
from harness.records.ledger import parse_ledger_line
from harness.world.routes import documents

DEEP = 200_000
"""So deep that a reader that recurses, or takes the square of it, does not come back."""
VALUES = st.recursive(
    st.none() | st.integers() | st.text('[]{}\\"ab'),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('[{"\\'), inner, max_size=3)
    ),
    max_leaves=20,
)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (documents.read_json, "[" * DEEP),
        (documents.read_json, '{"a":' * DEEP),
        (documents.read_json, '{"a":' * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1)),
        (documents.read_xml, "<a>" * DEEP),
        (reading.read_json_object, "[" * DEEP),
        (reading.read_json_object, '["]",' * DEEP),
        (reading.read_campaign_header, "[" * DEEP),
        (reading.read_campaign_header, "{a: " * DEEP),
        (reading.read_campaign_header, "- " * DEEP),
        (read_settings, "[" * DEEP),
        (read_settings, "? " * DEEP),
        (read_settings, "!!python/tuple [" * (DEEP // 10)),
    ],
    ids=lambda value: value.__name__ if callable(value) else value[:12],
)
def test_brackets_without_end_are_refused_in_one_line(
    reader: Callable[[Path], Any], text: str, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text(text)
    with pytest.raises(UserError) as refused:
        reader(file)
    assert str(refused.value).startswith(str(file))
    assert f"deeper than {DEEPEST} levels" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_line_of_the_ledger_of_nothing_but_brackets_is_torn() -> None:
    assert parse_ledger_line(b"[" * DEEP) is None


@pytest.mark.thorough
@given(VALUES)
def test_brackets_in_words_are_no_nesting(value: Any) -> None:
    nested = [value, "[" * 200, '"' + "{" * 200]
    for text in (
        json.dumps(nested),
        json.dumps(nested).encode(),
        json.dumps(nested).encode("utf-16"),
    ):
        assert parse_json(text) == nested
    check_yaml(yaml.safe_dump(nested), aliases=True)


def test_what_is_as_deep_as_allowed_is_read() -> None:
    text = "[" * DEEPEST + "]" * DEEPEST
    assert json.dumps(parse_json(text)) == text
    check_yaml(text, aliases=False)
    with pytest.raises(NestingError):
        parse_json(f"[{text}]")
    with pytest.raises(NestingError):
        check_yaml(f"[{text}]", aliases=False)


def test_aliases_are_read_as_far_as_they_stand_for_little() -> None:
    shared = [1, 2, 3]
    text = yaml.safe_dump({"range": shared, "again": shared, "more": {"range": shared}})
    assert "*id001" in text
    check_yaml(text, aliases=True)
    with pytest.raises(NestingError, match="holds aliases"):
        check_yaml(text, aliases=False)
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 40)]
    with pytest.raises(NestingError, match="more than 30,000 values"):
        check_yaml("\n".join(lines), aliases=True)
    with pytest.raises(NestingError, match="for itself"):
        check_yaml("a: &x [1, *x]", aliases=True)
