"""Names that a spreadsheet would run or a browser would not show, and tables that are none."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.drawing.canvas import Canvas
from analysis.drawing.svg import escape_markup, render_inline_svg
from analysis.regression.sample import NEEDED, read_attempts_table
from analysis.report.html import Markup, render_tag
from analysis.tables.writing import escape_csv_formulas, escape_formula, write_frame
from tests.analysis.little import write_little

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "'=1", "=\ud7ff"]
CONTROLS = [chr(code) for code in (*range(9), 11, 12, *range(14, 32), 127, 0x9B, 0x202E, 0x2066)]


def test_words_that_begin_as_formulas_are_escaped_and_read_back(tmp_path: Path) -> None:
    row: dict[str, object] = dict.fromkeys(NEEDED, 1.0)
    rows = [{**row, "system": name, "condition": "none", "route": "r"} for name in FORMULAS]
    frame = pd.DataFrame([{**row, "violated": True, "change": -1.5} for row in rows])
    write_frame(frame, tmp_path, "t", ["csv"])
    with (tmp_path / "t.csv").open(newline="") as file:
        result = list(csv.DictReader(file))
    assert [item["system"] for item in result] == [f"'{name}" for name in FORMULAS]
    assert all(item["change"] == "-1.5" for item in result)
    assert read_attempts_table(tmp_path / "t.csv")["system"].tolist() == FORMULAS


def test_numbers_and_dashes_stay_as_they_are() -> None:
    assert escape_formula("a\r=1") == "a\\r=1"
    frame = pd.DataFrame({"a": ["-1.5", "-", "+2e3", "nan", "x=1", None], "b": [-1, 2, 3, 4, 5, 6]})
    pd.testing.assert_frame_equal(escape_csv_formulas(frame), frame)


@pytest.mark.thorough
def test_a_reports_cells_are_no_formulas(tmp_path: Path) -> None:
    campaign = write_little(tmp_path / "c", [("=HYPERLINK(1)", "@none")], ["0"], [1])
    assert main(["report", str(campaign), "--results-only"]) == 0
    result = list((campaign / "report").glob("*.csv"))
    cells = [
        cell for item in result for row in csv.reader(io.StringIO(item.read_text())) for cell in row
    ]
    assert "'=HYPERLINK(1)" in cells
    assert not [cell for cell in cells if cell[:1] in ("=", "@", "+")]


@pytest.mark.parametrize("control", CONTROLS, ids=ascii)
def test_control_characters_are_no_part_of_a_page(control: str) -> None:
    text = f"a{control}b"
    assert escape_markup(text) == "ab"
    assert render_tag("p", text, title=text) == '<p title="ab">ab</p>'
    canvas = Canvas(10.0, 10.0, text)
    assert control not in render_inline_svg(canvas)


def test_tabs_and_ends_of_lines_stay() -> None:
    assert escape_markup("a\tb\nc & <d>") == "a\tb\nc &amp; &lt;d&gt;"


@pytest.mark.parametrize(
    "text", [Markup("<b>") + "x", "x" + Markup("<b>"), Markup("<b>x")[:3], Markup(" <b>").strip()]
)
def test_what_methods_of_markup_return_is_text(text: str) -> None:
    """Only the functions that render return markup: decision 0082."""
    assert "&lt;b&gt;" in render_tag("p", text)


GOOD = {**dict.fromkeys(NEEDED, "1"), "system": "a", "condition": "none", "violated": "True"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"violated": "perhaps"}, "row 2: violated is 'perhaps'; True or False is needed"),
        ({"violated": ""}, "row 2: violated is 'nan'; True or False is needed"),
        ({"LCME_end_10s": "many"}, "row 2: LCME_end_10s is 'many'; a number is needed"),
        ({"truth_all_end_10s": "1,5"}, "row 2: truth_all_end_10s is '1,5'; a number is needed"),
        ({"LCME_end_10s": "-1"}, "negative or infinite count"),
        ({"LCME_end_10s": "inf"}, "negative or infinite count"),
        ({"system": ""}, "a row lacks its"),
    ],
)
def test_a_bad_value_in_a_table_is_named_by_its_row(
    change: dict[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.csv"
    pd.DataFrame([GOOD, {**GOOD, **change}]).to_csv(file, index=False)
    assert main(["regress", str(file)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f": {file}: " in f": {line}"
    assert said in line


@pytest.mark.parametrize(
    "content",
    ["", "\n", "a,b\n1,2,3\n4\n5,6,7,8\n", '"a\n', "\x00\x00", "a,a\n1,2\n", "PAR1"],
)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_is_no_table_is_refused_in_our_words(
    content: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"t.{suffix}"
    file.write_text(content)
    assert main(["regress", str(file)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "cannot be read as a table" in line or "missing column system" in line


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, b"x"])
@pytest.mark.parametrize("column", ["LCME_end_10s", "violated", "system"])
def test_cells_that_hold_several_values_are_refused(
    value: object, column: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.parquet"
    row: dict[str, object] = {**dict.fromkeys(NEEDED, 1.0), "system": "a", "condition": "none"}
    pd.DataFrame([{**row, "violated": True, "route": "r", column: value}]).to_parquet(file)
    assert main(["regress", str(file)]) in ((0, 2) if column == "system" else (2,))
    assert "Traceback" not in capsys.readouterr().err
