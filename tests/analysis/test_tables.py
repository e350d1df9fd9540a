"""Every value in every table, once more by a slow path; and how tables are written."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from analysis import terminal
from analysis.collection import Collection
from analysis.tables.all_tables import tables_of
from analysis.tables.table import Table
from analysis.tables.writing import latex, p_in_words, write_table
from harness.vocabulary import PATTERNS
from tests.analysis import again
from tests.analysis.again import Attempt

BANDS = {"0_30": (0, 30), "30_50": (30, 50), "50_100": (50, 100)}


@pytest.fixture(scope="module")
def tables(found: Collection) -> dict[str, Table]:
    return {each.name: each for each in tables_of(found, results_only=False)}


@pytest.fixture(scope="module")
def attempts(little: Path) -> list[Attempt]:
    return again.attempts(little)


def values(table: Table) -> dict[tuple[str, ...], dict[str, float]]:
    return {
        names: {measure: each.value for measure, each in row.items()} for names, row in table.rows()
    }


def by_arm(attempts: list[Attempt]) -> dict[tuple[str, str], list[Attempt]]:
    arms: dict[tuple[str, str], list[Attempt]] = {}
    for each in attempts:
        arms.setdefault((each.system, each.condition), []).append(each)
    return arms


def hold(
    told: dict[tuple[str, ...], dict[str, float]], slow: dict[tuple[str, ...], dict[str, float]]
) -> None:
    assert set(told) == set(slow)
    for names, row in slow.items():
        assert told[names] == pytest.approx(row, nan_ok=True, rel=1e-9, abs=1e-12), names


def driving(some: list[Attempt]) -> dict[str, float]:
    return {
        "DS": again.mean(each.ours["driving_score"] for each in some),
        "CR %": 100 * again.mean(each.ours["collided"] for each in some),
        "CR users %": 100 * again.mean(each.ours["collided_with_road_user"] for each in some),
        "RCR %": 100 * again.mean(each.ours["completion"] for each in some),
        "violations %": 100 * again.mean(each.ours["violation"] is not None for each in some),
    }


def test_driving(tables: dict[str, Table], attempts: list[Attempt]) -> None:
    slow: dict[tuple[str, ...], dict[str, float]] = {
        arm: {**driving(some), "without messages": sum(map(silent, some))}
        for arm, some in by_arm(attempts).items()
    }
    hold(values(tables["driving"]), slow)


def silent(each: Attempt) -> bool:
    heard = each.ours["messages"]
    return bool(heard["reads"]) and not heard["used"]


def test_precision_of_a_drive_is_told_in_every_way(
    found: Collection, attempts: list[Attempt]
) -> None:
    names = ["system", "condition", "route", "seed"]
    rows = {tuple(row[names]): row for _, row in found.attempts.iterrows()}
    for each in attempts:
        row = rows[each.system, each.condition, each.route, each.seed]
        for source, name in (("cooperative", "ap"), ("ego_alone", "ap_ego_alone")):
            told = each.ours["average_precision"][source]
            ways = {"": "eleven_point", "_all_point": "all_point"}
            ways["_pooled_all_point"] = "pooled_all_point"
            for ending, way in ways.items():
                assert row[f"{name}{ending}"] == pytest.approx(again.mean([told[way]]), nan_ok=True)


def test_driving_by_seed(tables: dict[str, Table], attempts: list[Attempt]) -> None:
    slow: dict[tuple[str, ...], dict[str, float]] = {}
    for arm, some in by_arm(attempts).items():
        parts = [driving([each for each in some if each.seed == seed]) for seed in (1, 2)]
        slow |= {(*arm, "1"): parts[0], (*arm, "2"): parts[1]}
        slow[(*arm, "range")] = {name: abs(parts[0][name] - parts[1][name]) for name in parts[0]}
    hold(values(tables["seeds"]), slow)


PRECISIONS: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("AP", "cooperative", lambda told: told),
    ("AP alone", "ego_alone", lambda told: told),
    ("AP 10 s", "cooperative", lambda told: told["end_10s"]),
    ("AP 10 s alone", "ego_alone", lambda told: told["end_10s"]),
]


@pytest.mark.parametrize("source", ["cooperative", "ego_alone"])
def test_precision_of_the_last_ten_seconds_is_that_of_their_boxes(
    attempts: list[Attempt], source: str
) -> None:
    long = [each for each in attempts if each.result["meta"]["duration_game"] >= 10]
    assert len(long) > len(attempts) / 2
    for each in long[:12]:
        rows, truths = again.matched([each], source, last=10.0)
        slow = again.precision(rows, truths, lambda share, distance: True)
        told = each.ours["average_precision"][source]["end_10s"]["eleven_point"]
        assert told == pytest.approx(slow, rel=1e-9)
    short = [each for each in attempts if each.result["meta"]["duration_game"] < 10]
    assert short
    assert all(
        each.ours["average_precision"][source]["end_10s"]["eleven_point"] is None for each in short
    )


def test_patterns(tables: dict[str, Table], attempts: list[Attempt]) -> None:
    for table, disturbed in (("patterns", False), ("patterns_disturbed", True)):
        slow: dict[tuple[str, ...], dict[str, float]] = {}
        for arm, some in by_arm(attempts).items():
            for outcome, violated in (("clean", False), ("violation", True)):
                own = [each for each in some if (each.ours["violation"] is not None) == violated]
                if own and (arm[1] != "none") == disturbed:
                    slow[(*arm, outcome)] = {
                        name: again.mean(each.ours["patterns"]["end_10s"][key] for each in own)
                        for name, key in [
                            *zip(PATTERNS, PATTERNS, strict=True),
                            ("true boxes", "truth_all"),
                        ]
                    } | {
                        name: again.mean(
                            part(each.ours["average_precision"][source])["eleven_point"]
                            for each in own
                        )
                        for name, source, part in PRECISIONS
                    }
        assert slow
        hold(values(tables[table]), slow)


def test_errors_before_violations_count_frames(
    tables: dict[str, Table], attempts: list[Attempt]
) -> None:
    """t2 and t3 are summed from the frames; the first 5 s and less have no t2."""
    told = values(tables["before_violation"])
    for arm, some in by_arm(attempts).items():
        struck = [each for each in some if each.ours["violation"]]
        for window, first, last in (("t3", 0, 5), ("t2", 5, 10)):
            sums = []
            for each in struck:
                frames = each.table("frames")
                before = each.ours["violation"]["time"] - frames["time"]
                if before.max() >= last:
                    sums.append(
                        float(frames.loc[(before >= first) & (before < last), "CCME"].sum())
                    )
            assert told[(*arm, window)]["CCME"] == pytest.approx(again.mean(sums), nan_ok=True)


def test_bands(tables: dict[str, Table], attempts: list[Attempt]) -> None:
    slow: dict[tuple[str, ...], dict[str, float]] = {}
    for arm, some in by_arm(attempts).items():
        for band, (near, far) in BANDS.items():
            counts = dict.fromkeys(PATTERNS, 0.0)
            truths = 0.0
            for each in some:
                boxes = each.table("boxes")
                away = np.hypot(boxes["x"], boxes["y"])
                inside = boxes[(away >= near) & (away < far) & boxes["counted"]]
                truths += (inside["source"] == "truth").sum()
                for name in PATTERNS:
                    counts[name] += inside.loc[inside["pattern"] == name, "pattern_count"].sum()
            slow[(*arm, band)] = {name: 100 * n / truths for name, n in counts.items()}
            slow[(*arm, band)]["true boxes"] = truths / len(some)
            ways = [each.table("frames")["station"].max() for each in some]
            slow[(*arm, band)]["driven, m"] = float(np.mean(ways))
            seconds = [each.result["meta"]["duration_game"] for each in some]
            slow[(*arm, band)]["driven, s"] = float(np.mean(seconds))
    hold(values(tables["bands"]), slow)


def test_messages(tables: dict[str, Table], attempts: list[Attempt]) -> None:
    slow: dict[tuple[str, ...], dict[str, float]] = {}
    fates: dict[tuple[str, ...], dict[str, float]] = {}
    for arm, some in by_arm(attempts).items():
        if arm[0] == "alone":
            continue
        rows = pd.concat([each.table("messages") for each in some])
        seconds = sum(each.result["meta"]["duration_game"] for each in some)
        heard = rows[rows["age_found"].notna()]
        slow[(*arm, "roadside")] = {
            "age at delivery, s": heard["age_found"].mean(),
            "displaced, m": np.hypot(rows["found_x"], rows["found_y"]).mean(),
            "kB a message": rows["bytes"].mean() / 1000,
            "kB/s": rows["bytes"].sum() / 1000 / seconds,
        }
        shares = {
            f"{fate} %": 100 * (rows["fate"] == fate).mean()
            for fate in ("delivered", "superseded", "lost", "unsent", "unheard", "in_flight")
        }
        fates[(*arm, "roadside")] = {"messages a drive": len(rows) / len(some), **shares}
    hold(values(tables["messages"]), slow)
    hold(values(tables["fates"]), fates)


def test_pooled_precision(tables: dict[str, Table], attempts: list[Attempt]) -> None:
    arm = ("late", "latency")
    some = by_arm(attempts)[arm]
    matched = [again.matched(some, source) for source in ("cooperative", "ego_alone")]

    def slow(inside: Callable[[float, float], bool]) -> dict[str, float]:
        names = ("AP pooled", "AP pooled, alone")
        return {
            name: again.precision(*each, inside) for name, each in zip(names, matched, strict=True)
        }

    told = {name: values(tables[name]) for name in ("precision", "along_route", "precision_bands")}
    assert told["precision"][(*arm, "all")] == pytest.approx(slow(lambda s, d: True))
    assert told["along_route"][(*arm, "30-40 %")] == pytest.approx(
        slow(lambda s, d: 0.3 <= s < 0.4)
    )
    assert told["precision_bands"][(*arm, "0_30")] == pytest.approx(slow(lambda s, d: d < 30))
    assert told["precision_bands"][(*arm, "30_50")] == pytest.approx(
        slow(lambda s, d: 30 <= d < 50)
    )


def test_every_cell_has_its_n_and_most_an_interval_round_the_value(
    tables: dict[str, Table],
) -> None:
    for table in tables.values():
        cells = table.cells
        assert (cells["n"] > 0).all(), table.name
        assert (cells["routes"] > 0).all(), table.name
        some = cells[cells["method"] != "none"]
        assert len(some) or table.name == "ages_used", table.name
        assert ((some["low"] <= some["high"]) & (some["value"] >= 0)).all(), table.name
        none = cells[cells["method"] == "none"]
        assert none["low"].isna().all(), table.name


def test_rates_know_whether_each_route_counts_once(found: Collection) -> None:
    once = Collection(
        found.campaigns, found.attempts[found.attempts["seed"] == 1], found.missing, ()
    )
    tables = {each.name: each.cells for each in tables_of(once, results_only=True)}
    rates = tables["driving"][tables["driving"]["measure"].str.startswith("CR")]
    assert set(rates["method"]) == {"wilson"}
    twice = {each.name: each.cells for each in tables_of(found, results_only=True)}["driving"]
    assert "wilson" not in set(twice["method"])


def test_p_values_are_never_nought() -> None:
    told = [p_in_words(each, 3) for each in (1.0, 0.0471, 0.001, 0.00099, 0.0, math.nan)]
    assert told == ["1.000", "0.047", "0.001", "< 0.001", "< 0.001", "-"]


@pytest.mark.parametrize("width", [60, 200])
def test_no_number_is_cut_off_on_a_narrow_terminal(
    tables: dict[str, Table], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    out = io.StringIO()
    monkeypatch.setattr(terminal, "console", Console(width=width, file=out))
    for table in tables.values():
        terminal.show(table)
    assert "…" not in out.getvalue()


def test_files(tables: dict[str, Table], tmp_path: Path) -> None:
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
    assert text == latex(table)
    assert text.count(r" \\") == 1 + len(table.rows())
    assert r"CR \%" in text
    assert not math.isnan(table.cells["value"].iloc[0])
