"""Tables, page, packed records and pictures of an offline study."""

from __future__ import annotations

import io
import json
import math
import re
from math import comb
from pathlib import Path

import numpy as np
import pytest
import rich
from PIL import Image
from rich.console import Console

from harness.common.errors import UserError
from studies.metamorphic.__main__ import main
from studies.metamorphic.guiding.guides import GUIDES, choose_candidates
from studies.metamorphic.pages.page import render_study_page
from studies.metamorphic.pages.pictures import (
    PlanBox,
    compute_plan_corners,
    project_ego_place,
    render_plan_picture,
)
from studies.metamorphic.storage.packing import pack_study, read_packed_study
from studies.metamorphic.tables.choosing import (
    SHARE,
    build_candidate_pool,
    format_multiple,
    judge_pool,
)
from studies.metamorphic.tables.sheets import build_sheets, format_markdown
from studies.metamorphic.tables.smallest import compute_change_size, select_smallest_findings
from studies.metamorphic.tables.summary import StudyTables
from studies.metamorphic.tables.text_sheet import TextSheet
from tests.analysis.browser import look
from tests.studies.metamorphic.made_study import OPERATORS, write_study
from tests.training.made_up import write_recording


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def tables(study: Path) -> StudyTables:
    return StudyTables(study)


@pytest.fixture(scope="module")
def made(tables: StudyTables) -> dict[str, TextSheet]:
    return {sheet.name: sheet for sheet in build_sheets(tables)}


@pytest.fixture(scope="module")
def html(tables: StudyTables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(render_study_page(tables))
    return file


def row(sheet: TextSheet, *names: str) -> tuple[str, ...]:
    rows = [cells for cells in sheet.rows if cells[: len(names)] == names]
    assert len(rows) == 1
    return rows[0][sheet.names :]


@pytest.mark.thorough
def test_weather_has_three_values_and_others_two(made: dict[str, TextSheet]) -> None:
    assert all(cell.count("→") == 2 for cell in row(made["precision"], "rain"))
    assert all(cell.count("→") == 1 for cell in row(made["precision"], "insert"))
    sides = [cells[1] for cells in made["misled"].rows if cells[0] == "rain"]
    assert sides == ["recorded", "dry", "dry, hit in the weather"]


@pytest.mark.thorough
def test_cells_have_counts_and_exposures(made: dict[str, TextSheet], tables: StudyTables) -> None:
    rows = tables.checks
    rows = rows[(rows["check"] == "misled") & (rows["system"] == "late")]
    rows = rows[(rows["hits"] == "before") & (rows["operator"] == "rain")]
    dry, wet = (int(rows[rows["side"] == side]["count"].sum()) for side in ("dry", "changed"))
    assert row(made["misled"], "rain", "dry")[0].startswith(f"{dry} of 440 → {wet} of 440 (")


@pytest.mark.thorough
def test_mr1_is_by_number_of_points_and_class(
    made: dict[str, TextSheet], tables: StudyTables
) -> None:
    keys = {cells[:2] for cells in made["mr1"].rows}
    kinds = ("all classes", "vehicle", "pedestrian", "cyclist")
    assert keys == {(count, kind) for count in ("10", "1000") for kind in kinds}
    of = tables.measures
    of = of[(of["operator"] == "stray_points_10") & (of["relation"] == "MR1_count_vehicle")]
    count = int((of[of["system"] == "late"]["value"] > 0).sum())
    assert row(made["mr1"], "10", "vehicle")[0].startswith(f"{count} of 44 ")


def test_relations_have_the_family_in_their_p(made: dict[str, TextSheet]) -> None:
    assert "10 tests" in made["relations"].note  # five operators with bands, two systems
    assert row(made["relations"], "rain", "R6_weather")[0].endswith("p < 0.001")
    for cell in row(made["relations"], "latency", "R7_misled"):
        beyond = int(cell.split()[0])
        alone = 1 - sum(comb(22, k) * 0.05**k * 0.95 ** (22 - k) for k in range(beyond))
        assert float(cell.rpartition("p ")[2]) == pytest.approx(min(1, 8 * alone), abs=6e-4)
    assert row(made["relations"], "insert", "R8_changes")[0].endswith("p 1.000")
    assert "no band" in row(made["relations"], "mirrored", "R10_mirrored")[0]


def test_scenes_of_the_false_alarm_table_add_up(made: dict[str, TextSheet]) -> None:
    for cells in made["scenes"].rows:
        assert sum(map(int, cells[2:])) == 44 * 2
    broken = sum(map(int, row(made["scenes"], "rain", "R6_weather")[:3]))
    assert broken == 44 * 2


def test_verdicts_are_sums_over_scenes(made: dict[str, TextSheet]) -> None:
    cell = row(made["verdicts"], "rain", "R6_weather")[0]
    assert cell == "132: 44 / 44 / 44; 88 of 528"


def test_guides_keep_the_highest_scores_and_chance_is_1(tables: StudyTables) -> None:
    pool = build_candidate_pool(tables, "late")
    rows = choose_candidates(GUIDES["vgt"], pool.facts, SHARE)
    scores = pool.scores["vgt"].to_numpy()
    assert len(rows) == round(0.15 * len(scores))
    assert scores[rows].min() >= np.delete(scores, rows).max()
    placebos = pool.scores.index.get_level_values(1).str.startswith("placebo_")
    assert not placebos.any()
    judged = judge_pool(pool, "misled")
    assert list(judged) == list(GUIDES)
    assert judged["random"].rate == pytest.approx(1, abs=0.1)
    assert judged["random"].low <= 1 <= judged["random"].high
    count = pool.counts["misled"].to_numpy()[rows].sum()
    assert judged["vgt"].errors == count
    assert judged["vgt"].exposed == 10 * len(rows)
    # all tests have ten exposed road users, so count and rate are the same multiple
    assert judged["vgt"].rate == pytest.approx(judged["vgt"].count)
    expected = count / len(rows) / pool.counts["misled"].to_numpy().mean()
    assert judged["vgt"].rate == pytest.approx(expected)
    # the scores of this study know nothing of its errors, those of the synthetic judge all
    assert judged["vgt"].null is not None
    assert judged["vgt"].null.rate.low > 1.3
    assert judged["vgt"].high < 1
    assert judged["v2xgen"].null is None


def test_other_networks_guide_by_their_mean(tables: StudyTables) -> None:
    pool = build_candidate_pool(tables, "late")
    other = tables.scores[tables.scores["system"] == "fcooper"].set_index(["scene", "operator"])
    assert pool.others is not None
    assert np.allclose(pool.others, other["vgt"].reindex(pool.scores.index))


def test_multiples_have_their_interval() -> None:
    assert format_multiple(3.004) == "3.00"
    assert format_multiple(0.53, 0.366, 0.714) == "0.53 (0.37 to 0.71)"
    assert format_multiple(math.nan, math.nan, math.nan) == "-"


def test_the_smallest_findings_are_small_and_confirmed(tables: StudyTables) -> None:
    chosen = select_smallest_findings(tables)
    rain = [finding for finding in chosen if finding.operator == "rain"]
    assert 0 < len(chosen) <= 10
    assert len(rain) == 2
    assert all(finding.measure > finding.threshold and finding.wrong for finding in chosen)
    assert [f.size for f in chosen] == sorted(f.size for f in chosen)


@pytest.mark.parametrize(
    ("operator", "values", "size"),
    [
        ("rain", {"rate": 0.1}, 0.0),
        ("rain", {"rate": 50.0}, 1.0),
        ("fog", {"visibility": 1000.0}, 0.0),
        ("fog", {"visibility": 30.0}, 1.0),
        ("scale", {"object": 0.3, "x": 1.1, "y": 0.9, "z": 1.0}, 2 / 3),
        ("latency", {"looks": 1.0}, 0.5),
        ("rotate", {"object": 0.9, "degrees": 15.0, "side": "left"}, 0.5),
    ],
)
def test_size_of_a_change(operator: str, values: dict[str, float | str], size: float) -> None:
    assert compute_change_size(operator, values) == pytest.approx(size)


@pytest.mark.thorough
def test_packed_records_give_the_same_tables(
    study: Path, made: dict[str, TextSheet], tmp_path: Path
) -> None:
    file = tmp_path / "study.parquet"
    pack_study(study, file)
    packed = StudyTables(file)
    again = {sheet.name: sheet for sheet in build_sheets(packed)}
    assert {name: sheet.rows for name, sheet in again.items()} == {
        name: sheet.rows for name, sheet in made.items()
    }
    header = json.loads((study / "header.json").read_text())
    assert packed.header == {**header, "order_of_systems": ["late", "fcooper"]}
    pack_study(study, tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == file.read_bytes()


def test_what_is_no_packed_study_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "none.parquet"
    file.write_bytes(b"nothing")
    with pytest.raises(UserError, match="not the packed records"):
        read_packed_study(file)


def test_tables_are_markdown(made: dict[str, TextSheet]) -> None:
    text = format_markdown(made["mr1"])
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + len(made["mr1"].rows)
    assert {line.count("|") for line in lines} == {len(made["mr1"].head) + 1}


@pytest.mark.thorough
def test_the_page_has_every_section_and_its_commands(html: Path) -> None:
    text = html.read_text()
    for name in ("relations", "bands", "alarms", "effects", "errors", "guidance", "smallest"):
        assert f'id="{name}"' in text
    assert "crucible metamorphic show --scenes made-up --seed 1 --scene s" in text
    assert all(operator in text for operator in OPERATORS)
    assert text.count("<svg") >= 4 + 1 + 2 + 4


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1280, 400])
def test_a_browser_shows_the_page(html: Path, tmp_path: Path, width: int) -> None:
    seen = look(html, width, tmp_path)
    assert not seen.console
    assert seen.layout["width"] <= seen.layout["inner"]
    assert not seen.layout["flat"]
    assert not seen.layout["lost"]


def test_pictures_put_the_ego_in_the_middle_and_ahead_up() -> None:
    assert (
        project_ego_place(10, 0, 0)[1]
        < project_ego_place(0, 0, 0)[1]
        < project_ego_place(-10, 0, 0)[1]
    )
    assert project_ego_place(0, 10, 0)[0] > project_ego_place(0, 0, 0)[0]
    box = PlanBox(kind="object", x=3.0, y=4.0, length=4.0, width=2.0, yaw=np.pi / 2)
    assert np.allclose(sorted(compute_plan_corners(box)), [(2, 2), (2, 6), (4, 2), (4, 6)])
    canvas = render_plan_picture([box], says="one box")
    assert len([mark for mark in canvas.marks if getattr(mark, "closed", False)]) == 1


@pytest.mark.usefixtures("prints_fit")
@pytest.mark.thorough
def test_a_finding_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_recording(tmp_path / "rec")
    out = tmp_path / "shown.png"
    given = ["--scenes", str(tmp_path / "rec"), "--system", "late", "--out", str(out)]
    words = [*given, "--scene", "made-up/7/000002", "--operator", "pose_error"]
    assert main(["metamorphic", "show", *words]) == 0
    assert "R7_misled" in capsys.readouterr().out
    assert Image.open(out).width > 900
    words = [*given, "--scene", "made-up/7/000009", "--operator", "pose_error"]
    assert main(["metamorphic", "show", *words]) == 2
    assert "unknown scene" in capsys.readouterr().err


@pytest.mark.usefixtures("prints_fit")
@pytest.mark.thorough
def test_commands_write_tables_pack_and_page(study: Path, tmp_path: Path) -> None:
    file = tmp_path / "study.parquet"
    assert main(["metamorphic", "pack", str(study), "--out", str(file)]) == 0
    assert main(["metamorphic", "report", str(file)]) == 0
    assert (tmp_path / "report.html").is_file()
    assert main(["metamorphic", "tables", str(study), "--out", str(tmp_path / "tables.md")]) == 0
    text = (tmp_path / "tables.md").read_text()
    assert "44 of 44 scenes" in text
    assert "| fcooper | `0000000000000000` |" in text
    assert "## Guidance" in text
    assert main(["metamorphic", "tables", str(tmp_path / "nothing")]) == 2


@pytest.mark.thorough
def test_a_terminal_shows_how_many_tables_are_made(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(rich, "_console", Console(file=shown, force_terminal=True, width=80))
    words = ["metamorphic", "tables", str(study), "--out", str(tmp_path / "tables.md")]
    assert main(words) == 0
    counts = re.findall(r"(\d+)/(\d+)", shown.getvalue())
    assert counts
    assert counts[-1][0] == counts[-1][1]  # all are made
    assert "tables" in shown.getvalue()
