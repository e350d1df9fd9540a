"""Causes, and studies in which a cause is no predictor and the reverse."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.drawing.canvas import Circle, TextLabel
from studies.offline_to_violation.causes import estimate_latency_effect, estimate_repair_effect
from studies.offline_to_violation.figure import render_findings_figure
from studies.offline_to_violation.findings import ALL_OPERATORS, summarise_relations
from studies.offline_to_violation.verdicts import add_verdicts, judge_findings
from tests.studies.offline_to_violation.simulated import NOISE, PREDICTS, Simulated


def make_drives(violated: list[int], condition: str = "none") -> pd.DataFrame:
    names = [f"r{number}" for number in range(len(violated))]
    return pd.DataFrame(
        {
            "route": names,
            "system": "late",
            "condition": condition,
            "violated": np.array(violated) > 0,
        }
    )


def test_the_effect_of_a_repair_is_a_paired_difference() -> None:
    without = make_drives([1, 1, 1, 1, 1, 1, 0, 0, 0, 0])
    # the last route was not driven with the repair
    repaired = make_drives([0, 0, 0, 0, 0, 0, 1, 0, 0])
    effect = estimate_repair_effect(without, repaired)
    assert effect is not None
    assert (effect.pairs, effect.fewer, effect.more) == (9, 6, 1)
    assert effect.difference.value == pytest.approx(-5 / 9)
    # of 128 signs of seven differences, 16 give a sum of 5 or more
    assert effect.p == pytest.approx(16 / 128)
    assert estimate_repair_effect(without, repaired.iloc[:0]) is None


def test_the_effect_of_latency_is_of_messages_on_time() -> None:
    drives = pd.concat([make_drives([0, 0, 1, 0]), make_drives([1, 1, 1, 0], "latency")])
    effect = estimate_latency_effect(drives)
    assert effect is not None
    assert effect.difference.value == pytest.approx(-0.5)


def test_a_cause_that_predicts_nothing_and_a_predictor_that_causes_nothing() -> None:
    named = []
    for seed in range(6):
        study = Simulated(seed=seed, slope=1.4, spared={PREDICTS: 0.0, NOISE: 0.5}).make_study()
        table = judge_findings(study)
        named.append(dict(table.loc[table["system"] == "all", ["finding", "verdict"]].to_numpy()))
    assert [one[NOISE] for one in named] == ["cause"] * 6
    assert [one[PREDICTS] for one in named].count("predictor") >= 5
    assert not {one[PREDICTS] for one in named} - {"predictor", "neither shown"}


def test_what_both_predicts_and_causes_is_called_both() -> None:
    study = Simulated(seed=3, slope=1.4, spared={PREDICTS: 0.7}).make_study()
    table = judge_findings(study)
    rows = {(row["finding"], row["system"]): row for _, row in table.iterrows()}
    assert rows[PREDICTS, "all"]["verdict"] == "predictor and cause"
    assert rows[NOISE, "all"]["verdict"] == "neither shown"
    # single systems have intervals and no tests
    assert rows[PREDICTS, "late"]["verdict"] == ""
    assert np.isnan(rows[PREDICTS, "late"]["p predictor"])
    assert rows[PREDICTS, "late"]["effect high"] < 0


def test_one_family_and_the_effect_of_latency_counts_once() -> None:
    rows = [
        {"finding": name, "system": "all", "p predictor": p, "p cause": cause, "effect": -0.1}
        for name, p, cause in (
            ("latency", 0.5, 0.01),
            ("delay_200", 0.6, 0.01),
            ("LCME", 0.01, np.nan),
        )
    ]
    gains = {"lower log loss": 0.1, "lower log loss than base": 0.1}
    table = add_verdicts(pd.DataFrame(rows).assign(**gains)).set_index("finding")
    # four tests: 0.01, 0.01, 0.5, 0.6
    assert table["Holm predictor"].to_dict() == pytest.approx(
        {"latency": 1.0, "delay_200": 1.0, "LCME": 0.04}
    )
    assert table["Holm cause"].to_dict() == pytest.approx(
        {"latency": 0.04, "delay_200": 0.04, "LCME": np.nan}, nan_ok=True
    )
    assert table["verdict"].to_dict() == {
        "latency": "cause",
        "delay_200": "cause",
        "LCME": "predictor",
    }


def test_tests_to_come_count_and_make_no_p_smaller() -> None:
    """Whatever the tests to come say, corrected p values of the others do not grow."""
    rng = np.random.default_rng(5)
    smaller = 0
    for _ in range(200):
        rows = pd.DataFrame(
            {
                "finding": [f"f{number}" for number in range(6)],
                "system": "all",
                "p predictor": rng.uniform(size=6) ** 4,
                "p cause": [*rng.uniform(size=3) ** 4, *[np.nan] * 3],
                "effect": -0.1,
                "lower log loss": 0.1,
                "lower log loss than base": 0.1,
            }
        )
        whole = add_verdicts(rows)
        waiting = add_verdicts(rows.assign(**{"p cause": np.nan}), tests_to_come=3)
        assert (whole["Holm predictor"] <= waiting["Holm predictor"] + 1e-12).all()
        smaller += int((whole["Holm predictor"] < waiting["Holm predictor"] - 1e-12).sum())
    assert smaller > 0
    # nine tests, and not six: 0.004 * 9
    one = pd.DataFrame([{"finding": "f", "system": "all", "p predictor": 0.004, "p cause": np.nan}])
    one = one.assign(**{"effect": np.nan, "lower log loss": 1.0, "lower log loss than base": 1.0})
    assert add_verdicts(one, tests_to_come=8)["Holm predictor"].tolist() == pytest.approx([0.036])


def test_a_finding_that_predicts_only_in_the_sample_is_no_predictor() -> None:
    rows = pd.DataFrame(
        [{"finding": "LCME", "system": "all", "p predictor": 1e-5, "p cause": 1e-5, "effect": 0.2}]
    ).assign(**{"lower log loss": -0.01, "lower log loss than base": 0.1})
    # and a repair after which there are more violations shows no cause
    assert add_verdicts(rows)["verdict"].tolist() == ["neither shown"]


def test_relations_are_shares_of_boxes_and_counts_of_scenes() -> None:
    measures = pd.DataFrame(
        [
            ("a", "late", "rain", 10, 1),
            ("a", "late", "rain", 10, 3),
            ("a", "late", "insert", 0, 0),
            ("b", "late", "rain", 5, 0),
        ],
        columns=["route", "system", "operator", "exposed", "breaches"],
    )
    scenes = pd.DataFrame({"route": ["a", "b"], "system": "late", "scenes": [2, 1]})
    table = summarise_relations(measures, scenes)
    assert table["rain"].tolist() == pytest.approx([0.2, 0.0])
    assert table["insert"].isna().all()
    assert table[ALL_OPERATORS].tolist() == [1.0, 0.0]


def test_the_figure_has_all_findings_and_to_the_right_those_that_were_driven() -> None:
    table = judge_findings(Simulated(seed=3, spared={PREDICTS: 0.5}).make_study())
    canvas = render_findings_figure(table)
    words = [mark.text for mark in canvas.marks if isinstance(mark, TextLabel)]
    # no repair of NOISE was driven
    assert (words.count(PREDICTS), words.count(NOISE)) == (2, 1)
    right = [mark for mark in canvas.marks if isinstance(mark, Circle) and mark.at[0] > 390]
    assert len(right) == 3  # the legend's two, and one effect
    assert all(mark.at[0] < canvas.width for mark in right)
