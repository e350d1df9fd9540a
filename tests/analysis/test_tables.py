"""Every value in every table, once more by a slow path; and how tables are written."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from analysis import terminal
from analysis.collection import CampaignCollection, collect_campaigns
from analysis.tables.all_tables import build_all_tables
from analysis.tables.from_frames import build_frame_tables
from analysis.tables.staleness import MEAN_SPEEDS
from analysis.tables.table import EstimatesTable
from analysis.tables.writing import format_latex_table, format_p, write_table
from harness.records.metrics import OF_SUMS
from harness.types.record_names import PATTERNS
from tests.analysis import again
from tests.analysis.again import Attempt
from tests.analysis.little import STAGES, write_little
from tests.analysis.test_staleness import slow_measures
from tests.once import once

BANDS = {"0_30": (0, 30), "30_50": (30, 50), "50_100": (50, 100)}


@pytest.fixture(scope="module")
def tables(
    collection: CampaignCollection, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, EstimatesTable]:
    return once(
        tmp_path_factory,
        "tables",
        lambda _: {item.name: item for item in build_all_tables(collection, results_only=False)},
    )


@pytest.fixture(scope="module")
def attempts(little: Path) -> list[Attempt]:
    return again.attempts(little)


def values(table: EstimatesTable) -> dict[tuple[str, ...], dict[str, float]]:
    return {
        names: {measure: item.value for measure, item in row.items()}
        for names, row in table.list_rows()
    }


def by_arm(attempts: list[Attempt]) -> dict[tuple[str, str], list[Attempt]]:
    arms: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in attempts:
        arms.setdefault((attempt.system, attempt.condition), []).append(attempt)
    return arms


def hold(
    record: dict[tuple[str, ...], dict[str, float]], slow: dict[tuple[str, ...], dict[str, float]]
) -> None:
    assert set(record) == set(slow)
    for names, row in slow.items():
        assert record[names] == pytest.approx(row, nan_ok=True, rel=1e-9, abs=1e-12), names


def driving(some: list[Attempt]) -> dict[str, float]:
    return {
        "DS": again.mean(item.ours["driving_score"] for item in some),
        "CR %": 100 * again.mean(item.ours["collided"] for item in some),
        "CR users %": 100 * again.mean(item.ours["collided_with_road_user"] for item in some),
        "RCR %": 100 * again.mean(item.ours["completion"] for item in some),
        "violations %": 100 * again.mean(item.ours["violation"] is not None for item in some),
        "time to goal, s": again.mean(
            item.ours["surrogates"]["measures"]["time_to_goal"]["value"] for item in some
        ),
    }


@pytest.mark.thorough
def test_driving(tables: dict[str, EstimatesTable], attempts: list[Attempt]) -> None:
    slow: dict[tuple[str, ...], dict[str, float]] = {
        (*arm, STAGES[arm[0]]): {**driving(some), "without messages": sum(map(silent, some))}
        for arm, some in by_arm(attempts).items()
    }
    hold(values(tables["driving"]), slow)


def silent(attempt: Attempt) -> bool:
    heard = attempt.ours["messages"]
    return bool(heard["reads"]) and not heard["used"]


def test_precision_of_a_drive_is_given_in_every_way(
    collection: CampaignCollection, attempts: list[Attempt]
) -> None:
    names = ["system", "condition", "route", "seed"]
    rows = {tuple(row[names]): row for _, row in collection.attempts.iterrows()}
    for attempt in attempts:
        row = rows[attempt.system, attempt.condition, attempt.route, attempt.seed]
        for source, name in (("cooperative", "ap"), ("ego_alone", "ap_ego_alone")):
            result = attempt.ours["average_precision"][source]
            ways = {"": "eleven_point", "_all_point": "all_point"}
            ways["_pooled_all_point"] = "pooled_all_point"
            for ending, way in ways.items():
                assert row[f"{name}{ending}"] == pytest.approx(
                    again.mean([result[way]]), nan_ok=True
                )


def test_driving_by_seed(tables: dict[str, EstimatesTable], attempts: list[Attempt]) -> None:
    slow: dict[tuple[str, ...], dict[str, float]] = {}
    for arm, some in by_arm(attempts).items():
        parts = [driving([item for item in some if item.seed == seed]) for seed in (1, 2)]
        slow |= {(*arm, "1"): parts[0], (*arm, "2"): parts[1]}
        slow[(*arm, "range")] = {name: abs(parts[0][name] - parts[1][name]) for name in parts[0]}
    hold(values(tables["seeds"]), slow)


PRECISIONS: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("AP", "cooperative", lambda result: result),
    ("AP alone", "ego_alone", lambda result: result),
    ("AP 10 s", "cooperative", lambda result: result["end_10s"]),
    ("AP 10 s alone", "ego_alone", lambda result: result["end_10s"]),
]


@pytest.mark.thorough
@pytest.mark.parametrize("source", ["cooperative", "ego_alone"])
def test_precision_of_the_last_ten_seconds_is_that_of_their_boxes(
    attempts: list[Attempt], source: str
) -> None:
    long = [attempt for attempt in attempts if attempt.result["meta"]["duration_game"] >= 10]
    assert len(long) > len(attempts) / 2
    for item in long[:12]:
        rows, truths = again.matched([item], source, last=10.0)
        slow = again.precision(rows, truths, lambda share, distance: True)
        result = item.ours["average_precision"][source]["end_10s"]["eleven_point"]
        assert result == pytest.approx(slow, rel=1e-9)
    short = [attempt for attempt in attempts if attempt.result["meta"]["duration_game"] < 10]
    assert short
    assert all(
        item.ours["average_precision"][source]["end_10s"]["eleven_point"] is None for item in short
    )


def test_patterns(tables: dict[str, EstimatesTable], attempts: list[Attempt]) -> None:
    for table, disturbed in (("patterns", False), ("patterns_disturbed", True)):
        slow: dict[tuple[str, ...], dict[str, float]] = {}
        for arm, some in by_arm(attempts).items():
            for outcome, violated in (("clean", False), ("violation", True)):
                rows = [item for item in some if (item.ours["violation"] is not None) == violated]
                if rows and (arm[1] != "none") == disturbed:
                    slow[(*arm, outcome)] = {
                        name: again.mean(item.ours["patterns"]["end_10s"][key] for item in rows)
                        for name, key in [
                            *zip(PATTERNS, PATTERNS, strict=True),
                            ("ground-truth boxes", "truth_all"),
                        ]
                    } | {
                        name: again.mean(
                            part(item.ours["average_precision"][source])["eleven_point"]
                            for item in rows
                        )
                        for name, source, part in PRECISIONS
                    }
        assert slow
        hold(values(tables[table]), slow)


@pytest.mark.thorough
def test_errors_before_violations_count_frames(
    tables: dict[str, EstimatesTable], attempts: list[Attempt]
) -> None:
    """t2 and t3 are summed from the frames; the first 5 s and less have no t2."""
    value = values(tables["before_violation"])
    for arm, some in by_arm(attempts).items():
        struck = [item for item in some if item.ours["violation"]]
        for window, first, last in (("t3", 0, 5), ("t2", 5, 10)):
            sums = []
            for item in struck:
                frames = item.table("frames")
                before = item.ours["violation"]["time"] - frames["time"]
                if before.max() >= last:
                    sums.append(
                        float(frames.loc[(before >= first) & (before < last), "CCME"].sum())
                    )
            assert value[(*arm, window)]["CCME"] == pytest.approx(again.mean(sums), nan_ok=True)


@pytest.mark.thorough
def test_bands(tables: dict[str, EstimatesTable], attempts: list[Attempt]) -> None:
    slow: dict[tuple[str, ...], dict[str, float]] = {}
    for arm, some in by_arm(attempts).items():
        for band, (near, far) in BANDS.items():
            counts = dict.fromkeys(PATTERNS, 0.0)
            truths = 0.0
            for item in some:
                boxes = item.table("boxes")
                away = np.hypot(boxes["x"], boxes["y"])
                inside = boxes[(away >= near) & (away < far) & boxes["counted"]]
                truths += (inside["source"] == "truth").sum()
                for name in PATTERNS:
                    counts[name] += inside.loc[inside["pattern"] == name, "pattern_count"].sum()
            slow[(*arm, band)] = {name: 100 * n / truths for name, n in counts.items()}
            slow[(*arm, band)]["ground-truth boxes"] = truths / len(some)
            ways = [item.table("frames")["station"].max() for item in some]
            slow[(*arm, band)]["driven, m"] = float(np.mean(ways))
            seconds = [item.result["meta"]["duration_game"] for item in some]
            slow[(*arm, band)]["driven, s"] = float(np.mean(seconds))
    hold(values(tables["bands"]), slow)


@pytest.mark.thorough
def test_metrics_may_be_called_like_sums_over_planning_steps(tmp_path: Path) -> None:
    folder = write_little(tmp_path / "plain", routes=("0", "1"), seeds=(1,))
    plain = build_frame_tables(collect_campaigns([folder]))
    for file in folder.rglob("result.json"):
        result = json.loads(file.read_text())
        result["crucible"]["metrics"] = {name: {"value": 1.5, "unit": ""} for name in OF_SUMS}
        file.write_text(json.dumps(result))
    with_metrics = collect_campaigns([folder])
    assert set(with_metrics.attempts) >= OF_SUMS
    for one, other in zip(plain, build_frame_tables(with_metrics), strict=True):
        pd.testing.assert_frame_equal(one.cells, other.cells)


def test_messages(tables: dict[str, EstimatesTable], attempts: list[Attempt]) -> None:
    slow: dict[tuple[str, ...], dict[str, float]] = {}
    fates: dict[tuple[str, ...], dict[str, float]] = {}
    for arm, some in by_arm(attempts).items():
        if arm[0] == "alone":
            continue
        rows = pd.concat([item.table("messages") for item in some])
        seconds = sum(item.result["meta"]["duration_game"] for item in some)
        heard = rows[rows["age_measured"].notna()]
        slow[(*arm, "roadside")] = {
            "age at delivery, s": heard["age_measured"].mean(),
            "displaced, m": np.hypot(rows["measured_x"], rows["measured_y"]).mean(),
            "kB per message": rows["bytes"].mean() / 1000,
            "kB/s": rows["bytes"].sum() / 1000 / seconds,
            **{name: slow_measures(some)[name] for name in MEAN_SPEEDS},
        }
        shares = {
            f"{fate} %": 100 * (rows["fate"] == fate).mean()
            for fate in ("delivered", "superseded", "lost", "unsent", "unheard", "in_flight")
        }
        fates[(*arm, "roadside")] = {"messages per drive": len(rows) / len(some), **shares}
    hold(values(tables["messages"]), slow)
    hold(values(tables["fates"]), fates)


@pytest.mark.thorough
def test_pooled_precision(tables: dict[str, EstimatesTable], attempts: list[Attempt]) -> None:
    arm = ("late", "latency")
    some = by_arm(attempts)[arm]
    matched = [again.matched(some, source) for source in ("cooperative", "ego_alone")]

    def slow(inside: Callable[[float, float], bool]) -> dict[str, float]:
        names = ("AP pooled", "AP pooled, alone")
        return {
            name: again.precision(*item, inside) for name, item in zip(names, matched, strict=True)
        }

    result = {
        name: values(tables[name]) for name in ("precision", "along_route", "precision_bands")
    }
    assert result["precision"][(*arm, "all")] == pytest.approx(slow(lambda s, d: True))
    assert result["along_route"][(*arm, "30-40 %")] == pytest.approx(
        slow(lambda s, d: 0.3 <= s < 0.4)
    )
    assert result["precision_bands"][(*arm, "0_30")] == pytest.approx(slow(lambda s, d: d < 30))
    assert result["precision_bands"][(*arm, "30_50")] == pytest.approx(
        slow(lambda s, d: 30 <= d < 50)
    )


def test_every_cell_has_its_n_and_most_an_interval_round_the_value(
    tables: dict[str, EstimatesTable],
) -> None:
    for table in tables.values():
        cells = table.cells
        if table.name == "time_cost":  # no oracle here; of some arms no drive reaches the goal
            assert cells.loc[cells["measure"].str.contains("oracle"), "value"].isna().all()
            cells = cells[cells["n"] > 0]
            assert {"CR %", "mean speed, m/s"} < set(cells["measure"])
        assert (cells["n"] > 0).all(), table.name
        assert (cells["routes"] > 0).all(), table.name
        some = cells[cells["method"] != "none"]
        assert len(some) or table.name in ("ages_used", "staleness"), table.name
        assert ((some["low"] <= some["high"]) & (some["value"] >= 0)).all(), table.name
        none = cells[cells["method"] == "none"]
        assert none["low"].isna().all(), table.name


@pytest.mark.thorough
def test_rates_know_whether_every_route_counts_once(collection: CampaignCollection) -> None:
    once = CampaignCollection(
        campaigns=collection.campaigns,
        attempts=collection.attempts[collection.attempts["seed"] == 1],
        missing=collection.missing,
        notes=(),
    )
    tables = {item.name: item.cells for item in build_all_tables(once, results_only=True)}
    rates = tables["driving"][tables["driving"]["measure"].str.startswith("CR")]
    assert set(rates["method"]) == {"wilson"}
    twice = {item.name: item.cells for item in build_all_tables(collection, results_only=True)}[
        "driving"
    ]
    assert "wilson" not in set(twice["method"])


def test_p_values_are_never_zero() -> None:
    result = [format_p(value, 3) for value in (1.0, 0.0471, 0.001, 0.00099, 0.0, math.nan)]
    assert result == ["1.000", "0.047", "0.001", "< 0.001", "< 0.001", "-"]


@pytest.mark.thorough
@pytest.mark.parametrize("width", [60, 200])
def test_no_number_is_cut_off_on_a_narrow_terminal(
    tables: dict[str, EstimatesTable], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    out = io.StringIO()
    monkeypatch.setattr(terminal, "console", Console(width=width, file=out))
    for table in tables.values():
        terminal.show_table(table)
    assert "…" not in out.getvalue()


def test_files(tables: dict[str, EstimatesTable], tmp_path: Path) -> None:
    table = tables["driving"]
    write_table(table, tmp_path, ["csv", "parquet", "latex"])
    csv, parquet = (
        pd.read_csv(tmp_path / "driving.csv"),
        pd.read_parquet(tmp_path / "driving.parquet"),
    )
    for other in (csv, parquet):
        pd.testing.assert_frame_equal(
            other.astype({"value": float}), table.cells.reset_index(drop=True), check_dtype=False
        )
    text = (tmp_path / "driving.tex").read_text()
    assert text == format_latex_table(table)
    assert text.count(r" \\") == 1 + len(table.list_rows())
    assert r"CR \%" in text
    assert not math.isnan(table.cells["value"].iloc[0])
