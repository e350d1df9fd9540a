"""Effects of interventions: a planted one is found, nothing is not, shares are Shapley's."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from analysis.__main__ import main
from analysis.collection import collect_campaigns
from analysis.drawing.svg import render_svg_file
from analysis.statistics.intervals import compute_wilson_interval
from harness.records.arms import Arm
from harness.types.record_names import PATTERNS
from studies.interventions.agreement import classify_agreement, fit_base_arm
from studies.interventions.arms import BRAKING, STOPS
from studies.interventions.dose_figures import render_dose_figures
from studies.interventions.doses import SPEED_SHARE, fit_slopes
from studies.interventions.effect_figures import render_effects_figure, render_ratios_figure
from studies.interventions.paired import (
    OUTCOMES,
    SHARED_SPEED,
    add_family_p_values,
    estimate_value_difference,
)
from studies.interventions.study import EffectsStudy, build_effects_study
from tests.analysis.interventions import BASE, Ending, inject, repair, write_interventions
from tests.analysis.little import Drive

pytestmark = pytest.mark.thorough

CRASH, CLEAN = Drive(12, "collision_pedestrian"), Drive(20)
SIX = {f"repair_{name}": repair(name) for name in PATTERNS}


NAMES = (
    *("", "_last", "_doses", "_curves", "_shapley", "_on_time", "_windows", "_regression"),
    *("_drivers", "_agreement"),
)


def value(table: pd.DataFrame, row: Any, column: str) -> Any:
    return table.loc[row, column]


def cured_by(*patterns: str) -> Ending:
    """Drives crash unless one of the patterns is repaired; on route 0 they always do."""

    def ending(arm: Arm, route: str, seed: int) -> Drive:
        repaired = set(arm["intervention"].split("_"))
        saved = {*patterns} & repaired or "all" in repaired
        return CLEAN if saved and route != "0" else CRASH

    return ending


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("effects") / "planted"
    arms = {**SIX, "repair_all": repair(*PATTERNS), "repair_": repair()}
    return write_interventions(folder, arms, cured_by("CCME"), routes=11)


@pytest.fixture(scope="module")
def study(planted: Path) -> EffectsStudy:
    return build_effects_study(collect_campaigns([planted]))


def test_a_planted_effect_is_significant_and_nothing_else(study: EffectsStudy) -> None:
    effects = study.effects[study.effects["outcome"] == "violations, %"].set_index("intervention")
    assert value(effects, "repair_CCME", "difference") == pytest.approx(-1000 / 11)
    assert value(effects, "repair_all", "difference") == pytest.approx(-1000 / 11)
    significant = effects.index[effects["p family"] < 0.05]
    assert sorted(significant) == ["repair_CCME", "repair_all"]
    others = effects.drop(index=significant)
    assert (others["difference"] == 0).all()
    assert set(study.effects["truth"]) == {"reference"}


def test_one_family_is_stricter_than_single_tests(study: EffectsStudy) -> None:
    tested = study.effects[study.effects["p"].notna()]
    assert (tested["p family"] >= tested["p"] - 1e-12).all()
    assert (tested["p family"] > tested["p"]).any()
    assert tested["outcome"].nunique() == 3


def test_what_an_effect_costs_in_time_stands_next_to_it(study: EffectsStudy) -> None:
    rows = study.effects[study.effects["intervention"] == "repair_CCME"].set_index("outcome")
    for outcome in (SHARED_SPEED, STOPS, BRAKING):
        assert value(rows, outcome, "pairs") == 11
        assert math.isnan(value(rows, outcome, "p"))
    assert "time to goal, s" not in rows.index, "no pair reached the goal twice"
    assert "late/latency: time to goal, s: missing, as no pair has it in both drives" in study.notes


def test_an_intervention_that_changed_nothing_is_counted(study: EffectsStudy) -> None:
    rows = study.effects[study.effects["intervention"] == "repair_"]
    assert set(rows["unchanged attempts"]) == {11}
    (note,) = [note for note in study.notes if "nothing was changed" in note]
    assert note.endswith("intervention=repair_: nothing was changed in 11 of 11 attempts")


def test_the_regression_stands_next_to_the_interventions(study: EffectsStudy) -> None:
    table = study.regression.set_index("pattern")
    assert list(table.index) == list(PATTERNS)
    assert value(table, "CCME", "difference") == pytest.approx(-1000 / 11)
    assert set(table["agreement"]) <= {"neither", "intervention only"}
    assert value(table, "CCME", "agreement") == "intervention only"


def test_the_regression_looks_at_drives_without_interventions(planted: Path) -> None:
    checks = fit_base_arm(collect_campaigns([planted]), BASE).checks.set_index("check")["result"]
    assert checks["rows"] == "11, of which 11 with violation"


@pytest.mark.parametrize(
    ("odds", "p", "difference", "p_family", "word"),
    [
        (3.0, 0.01, -10.0, 0.01, "both"),
        (0.3, 0.01, 10.0, 0.01, "both"),
        (3.0, 0.01, 10.0, 0.01, "opposite"),
        (3.0, 0.01, -1.0, 0.9, "regression only"),
        (3.0, 0.9, -10.0, 0.01, "intervention only"),
        (math.nan, math.nan, 0.0, 1.0, "neither"),
    ],
)
def test_agreement(odds: float, p: float, difference: float, p_family: float, word: str) -> None:
    assert classify_agreement(odds, p, difference, p_family) == word


@pytest.fixture(scope="module")
def dosed(tmp_path_factory: pytest.TempPathFactory) -> EffectsStudy:
    """Eight routes with three doses: each half a dose adds crashes on four routes."""
    arms = {f"inject_{dose:g}": inject(dose) for dose in (0.0, 0.5, 1.0)}

    def ending(arm: Arm, route: str, seed: int) -> Drive:
        name = arm["intervention"]
        dose = 0.0 if name == "none" else float(name.removeprefix("inject_"))
        return CRASH if int(route) < 8 * dose else CLEAN

    folder = tmp_path_factory.mktemp("effects") / "dosed"
    return build_effects_study(
        collect_campaigns([write_interventions(folder, arms, ending, routes=8)])
    )


def test_doses_have_a_slope_and_are_compared_with_perfect_boxes(dosed: EffectsStudy) -> None:
    study = dosed
    assert set(study.effects[study.effects["intervention"] == "inject_1"]["compared with"]) == {
        "inject_0"
    }
    assert pd.api.types.is_integer_dtype(study.effects["unchanged attempts"])
    slopes = study.doses.set_index("outcome")
    assert value(slopes, "violations, %", "difference") == pytest.approx(100.0)
    assert value(slopes, "violations, %", "doses") == "0, 0.5, 1"
    assert value(slopes, "violations, %", "p family") > value(slopes, "violations, %", "p")
    curves = study.curves[study.curves["outcome"] == "violations, %"].set_index("dose")
    assert curves["value"].to_dict() == {0.0: 0.0, 0.5: 50.0, 1.0: 100.0}
    assert set(curves["attempts"]) == {8}
    assert value(curves, 0.0, "high") == pytest.approx(100 * compute_wilson_interval(0, 8)[1])
    share = study.curves[study.curves["outcome"] == SPEED_SHARE].set_index("dose")
    assert value(share, 0.0, "value") == pytest.approx(100.0)
    assert value(share, 1.0, "value") == pytest.approx(100 * 20 / 12, rel=0.05)
    assert fit_slopes(np.array([0.0, 1.0, 3.0]), np.array([[1.0], [3.0], [7.0]])) == pytest.approx(
        [2]
    )


def test_curves_have_a_marker_at_every_dose(dosed: EffectsStudy) -> None:
    figures = render_dose_figures(dosed.curves)
    assert list(figures) == ["effects-doses", "effects-doses-speed"]
    for figure, outcome in zip(figures.values(), ("violations, %", SPEED_SHARE), strict=True):
        assert figure is not None
        picture = render_svg_file(figure)
        texts = words_in(picture)
        assert texts[0] == "late/latency: all but CADE"
        assert outcome in texts
        assert "dose, multiples of the measured rates" in texts
        assert texts[-1] == "ground truth: seen (hit by the ego or the reference rig)"
        assert picture.count("<title>late/latency: all but CADE, dose ") == 3
    assert render_dose_figures(dosed.curves.iloc[:0]) == dict.fromkeys(figures)


def test_the_command_prints_and_writes(
    planted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["effects", str(planted), "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "violations, %; ground truth: seen (hit by the ego or the reference rig)" in printed
    assert "repair all six" in printed
    assert "late/latency: no Shapley shares: the campaign lacks arms for them." in printed
    assert "regression (" in printed
    assert "late/latency: of 6 patterns, same direction 0, opposite 0, no direction 0" in printed
    table = pd.read_csv(tmp_path / "effects.csv")
    assert set(table["of"]) == {"late/latency"}
    tables = {f"effects{name}.csv" for name in NAMES}
    assert {path.name for path in tmp_path.iterdir()} == tables | {"effects-violations.svg"}


def test_figures_have_effects_in_the_order_of_patterns(study: EffectsStudy) -> None:
    figure = render_effects_figure(study.effects)
    assert figure is not None
    texts = words_in(render_svg_file(figure))
    repairs = [f"repair {name}" for name in (*PATTERNS, "none", "all six")]
    assert [text for text in texts if text.startswith("repair ")] == repairs
    assert texts.index("late/latency") + 1 == texts.index(repairs[0])
    assert texts[-1] == "ground truth: seen (hit by the ego or the reference rig)"
    assert texts[texts.index("repair CCME") + 1] == "-90.9, n 11"
    fitted = study.regression.assign(regression="timing-fair")
    fitted[["odds ratio", "odds low", "odds high"]] = [(2.5, 1.5, 4.0), *[(math.nan,) * 3] * 5]
    ratios = render_ratios_figure(fitted)
    assert ratios is not None
    texts = words_in(render_svg_file(ratios))
    assert [text for text in texts if text in PATTERNS] == [*PATTERNS]
    assert texts[texts.index("LCME") + 1] == "2.5"
    assert texts.count("not estimated") == 5


def test_repairs_of_some_patterns_and_ratios_that_are_unknown_are_in_no_figure(
    study: EffectsStudy,
) -> None:
    two = study.effects.assign(**{"effect of": "repair LCME CCME"})
    assert render_effects_figure(two) is None
    assert render_ratios_figure(study.regression.iloc[:0]) is None
    assert not study.regression["odds ratio"].notna().any()
    assert render_ratios_figure(study.regression) is None


def words_in(svg: str) -> list[str]:
    """Return the texts of a figure in order."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_bad_folders_are_one_line(
    planted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.analysis.little import write_little

    without = write_little(tmp_path / "without", arms=[("late", "none")], routes=("0",), seeds=(1,))
    assert main(["effects", str(without)]) == 2
    assert "no arm has an intervention" in capsys.readouterr().err
    file = planted / "episodes" / str(BASE.replace_factors(intervention="repair_LADE").path)
    result = next(file.rglob("result.json"))
    text = result.read_text()
    try:
        result.write_text(text.replace('"kind": "repair"', '"kind": "prepare"'))
        assert main(["effects", str(planted), "--out", str(tmp_path)]) == 2
    finally:
        result.write_text(text)
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert str(result) in error


def test_campaigns_with_equal_attempts_have_separate_effects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The repair prevents every crash in one of them, and none in the other."""
    arms = {"repair_CCME": repair("CCME")}
    cured, other = (
        write_interventions(tmp_path / name, arms, cured_by(pattern), routes=2)
        for name, pattern in (("cured", "CCME"), ("other", "LADE"))
    )
    assert main(["effects", str(cured), str(other), "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().err == ""
    table = pd.read_csv(tmp_path / "out" / "effects.csv")
    rows = table[table["outcome"] == "violations, %"].set_index("of")
    assert rows["difference"].to_dict() == {
        "late/latency/1 cured": -50.0,
        "late/latency/2 other": 0.0,
    }


def test_interventions_without_a_pair_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_interventions(tmp_path / "c", {"repair_CCME": repair("CCME")}, cured_by("CCME"))
    for attempt in (folder / "episodes" / BASE.path).glob("*-s1"):
        shutil.rmtree(attempt)
    assert main(["effects", str(folder)]) == 2
    error = capsys.readouterr().err
    assert "no arm with an intervention has a pair" in error
    assert error.count("\n") == 1


@pytest.mark.usefixtures("prints_fit")
def test_errors_are_measured_of_drives_without_interventions(
    planted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from harness.evaluation.interventions.error_model import read_error_model

    settings = planted / "campaign.yaml"
    text = settings.read_text()
    words = ["errors", str(planted), "--system", "late", "--out", str(tmp_path / "m.json")]
    assert main([*words, "--condition", "latency"]) == 2
    assert "has no settings of patterns" in capsys.readouterr().err
    try:
        settings.write_text(text.replace("settings:", "settings:\n  patterns: {rule: max}"))
        assert main([*words, "--condition", "latency"]) == 0
        assert main([*words, "--condition", "rain"]) == 2
    finally:
        settings.write_text(text)
    model = read_error_model(tmp_path / "m.json")
    assert model.source["attempts"] == 11
    assert model.source["arm"] == "late/ahead/latency"
    assert model.share["CCME"].max() > 0
    assert "not one arm with results" in capsys.readouterr().err


@pytest.mark.parametrize("steps", [0, 1])
def test_drives_without_two_planning_steps_have_no_error_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], steps: int
) -> None:
    folder = write_interventions(tmp_path / "c", {}, lambda *_: CLEAN, routes=1)
    settings = folder / "campaign.yaml"
    settings.write_text(settings.read_text().replace("settings:", "settings:\n  patterns: {}"))
    for file in folder.rglob("frames.parquet"):
        pq.write_table(pq.read_table(file)[:steps], file)
    words = ["errors", str(folder), "--system", "late", "--condition", "latency"]
    assert main([*words, "--out", str(tmp_path / "m.json")]) == 2
    error = capsys.readouterr().err
    assert error == "late/ahead/latency: no attempt has two planning steps: nothing to measure\n"
    assert not (tmp_path / "m.json").exists()


def test_a_family_counts_tests_and_not_descriptions() -> None:
    violations, speed = OUTCOMES[0], OUTCOMES[3]
    clusters = np.arange(8.0)
    effects = [
        estimate_value_difference(
            np.ones(8), np.zeros(8), clusters=clusters, outcome=outcome, names={}
        )
        for outcome in (violations, speed)
    ]
    table = add_family_p_values(effects)
    assert table["p family"].tolist()[0] == pytest.approx(2 / 2**8)
    assert math.isnan(table["p family"].tolist()[1])
