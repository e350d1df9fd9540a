"""A report's first section, its folds, its notes, and paper: what is seen without a click."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.collection import collect_campaigns
from analysis.contrasts import ALPHA
from analysis.report.page import SECTIONS, render_note_list
from analysis.report.summary import describe_planning_steps, list_uniform_delays
from harness.records.packing.pack import pack_campaigns
from harness.records.packing.unpack import unpack_campaigns
from tests.analysis.little import Drive, write_little
from tests.analysis.page import Page
from tests.analysis.tab import Tab, new_tab
from tests.keys import key_of

pytestmark = pytest.mark.thorough

SEEN = "document.querySelector('#{} table').checkVisibility()"
FOLDED = "[...document.querySelectorAll('details')].filter(fold => !fold.open).length"


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with new_tab() as opened:
        yield opened


@pytest.fixture(scope="module")
def text(out: Path) -> str:
    return (out / "report.html").read_text()


def test_the_first_section_has_every_arm_in_one_figure(out: Path, text: str) -> None:
    """Every system under every condition, with driving score, collision rate and intervals."""
    first = text[text.index("<main>") : text.index('id="findings"')]
    assert first.count("<figure") == 1
    assert "<details" not in first
    cells = pd.read_csv(out / "driving.csv", keep_default_na=False)
    for measure in ("DS", "CR %"):
        for _, row in cells[cells["measure"] == measure].iterrows():
            assert f"{float(row['value']):.0f} [{float(row['low']):.0f}, " in first
            assert {f">{row['system']}<", f">{row['condition']}<"} <= set(
                re.findall(">[^<]*<", first)
            )


def test_the_answers_count_what_the_tables_hold(out: Path, text: str) -> None:
    words = Page(
        text[text.index("<main>") : text.index('<section id="findings"')] + "</main>"
    ).words
    table = pd.read_csv(out / "differences.csv")
    for family, rows in table.groupby("family"):
        question = (
            "Does a disturbance change driving?"
            if family == "disturbed against undisturbed"
            else f"Do systems differ under {str(family).removeprefix('systems under ')}?"
        )
        answer = words[words.index(question) :].removeprefix(question)
        of = {name: rows[rows["measure"] == name] for name in ("driving score", "violations, %")}
        significant = [int((part["p page"] < ALPHA).sum()) for part in of.values()]
        assert re.match(
            rf" {len(of['driving score'])} \w+: {significant[0]} significant in driving score,"
            rf" {significant[1]} in violation rate\.",
            answer,
        )
        scores = of["driving score"]
        shown = scores[scores["clear"]] if scores["clear"].any() else scores
        largest = f"{shown['difference'].abs().max():.1f}"
        assert largest in answer[: answer.index("?") if "?" in answer else None]


def test_conditions_that_are_not_fitted_share_one_answer(tmp_path: Path) -> None:
    """No drive has a violation: all five conditions are refused for one and the same reason."""
    conditions = ["none", *(f"latency={size}" for size in (1, 2, 3, 4))]
    drives = {
        key_of("late", condition, route, 1): Drive() for condition in conditions for route in "01"
    }
    arms = [("late", condition) for condition in conditions]
    folder = write_little(tmp_path / "c", arms, ["0", "1"], [1], drives=drives)
    assert main(["report", str(folder), "--out", str(tmp_path / "out")]) == 0
    words = Page((tmp_path / "out" / "report.html").read_text()).words
    first = words[: words.index("Driving score and collision rate of each arm")]
    assert first.count("Which errors are associated with violations under") == 1
    assert first.count(" and 2 more? Not fitted in any: ") == 1


def test_all_other_sections_are_folds(text: str) -> None:
    for name in SECTIONS:
        if name not in ("overview", "campaigns"):
            assert f'<section id="{name}"><details class="part' in text or re.search(
                rf'<section[^>]* id="{name}"><details class="part', text
            )
    assert "<details open" not in text


def test_a_link_opens_its_fold(tab: Tab, out: Path) -> None:
    tab.open(out / "report.html")
    assert not tab.value(SEEN.format("differences"))
    tab.click('nav a[href="#differences"]')
    assert tab.value("new Promise(done => setTimeout(() => done(1), 300))") == 1
    assert tab.value("document.querySelector('#differences details').open")


def test_paper_has_the_tables_in_folds_and_not_the_listings(tab: Tab, out: Path) -> None:
    """By its style sheet alone, and by its script; folds are closed again afterwards."""
    tab.open(out / "report.html")
    folded = tab.value(FOLDED)
    assert not tab.value(SEEN.format("differences"))
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert tab.value(SEEN.format("differences"))
    assert not tab.value(SEEN.format("attempts"))
    # heads are repeated on each page only without boxes of buttons
    heads = "[...document.querySelectorAll('thead button')].map(of => getComputedStyle(of).display)"
    assert set(tab.value(heads)) == {"contents"}
    tab.call("Emulation.setEmulatedMedia", media="")
    assert not tab.value(SEEN.format("differences"))
    tab.value("dispatchEvent(new Event('beforeprint'))")
    assert tab.value(SEEN.format("differences"))
    assert not tab.value(SEEN.format("attempts"))
    tab.value("dispatchEvent(new Event('afterprint'))")
    assert tab.value(FOLDED) == folded


def test_notes_of_one_kind_are_one_line(tmp_path: Path) -> None:
    """Hazards that were not run in two arms, with the arms of the least and the largest share."""
    arms = [("late", "none"), ("early", "none"), ("single", "none")]
    missed = {("late", 3), ("early", 1)}
    drives = {
        key_of(system, "none", str(route), 1): Drive(cause="no_place" if route < count else "")
        for system, count in missed
        for route in range(8)
    }
    folder = write_little(tmp_path / "c", arms, [str(n) for n in range(8)], [1], drives=drives)
    notes = [note for note in collect_campaigns([folder]).notes if "not run" in note]
    assert len(notes) == 1
    planned = {name: re.findall(r"(\d+) of (\d+) hazards", notes[0]) for name in ("both",)}
    assert notes[0].startswith("warning: in 2 of 3 arms 4 of ")
    assert planned["both"][0][0] == "4"
    assert "(early/none) to " in notes[0]
    assert notes[0].endswith("(late/none)")


@pytest.mark.parametrize(("count", "folds"), [(2, 0), (9, 1)])
def test_many_broken_records_are_in_a_fold(count: int, folds: int) -> None:
    known = [f"warning: broken: late/none/{n}-s1: no file" for n in range(count)]
    page = Page(render_note_list(["warning: records are broken", *known]))
    assert page.count.get("details", 0) == folds
    assert page.words.count("no file") == count


def test_a_packed_study_says_that_packing_left_messages_out(tmp_path: Path) -> None:
    drives = {
        key_of("late", "none", "0", 1): Drive(20, "collision_vehicle"),
        key_of("late", "none", "1", 1): Drive(20),
    }
    folder = write_little(tmp_path / "c", [("late", "none")], ["0", "1"], [1], drives=drives)
    pack_campaigns([folder], tmp_path / "part.parquet")
    (unpacked,) = unpack_campaigns([tmp_path / "part.parquet"], tmp_path / "study")
    assert main(["report", str(unpacked), "--out", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out" / "report.html").read_text()
    words = Page(text).words
    assert words.count("packing left out the records of messages") == 2
    assert "No message was" not in words
    # no fold is empty, and no count of pictures speaks of none
    assert "</summary></details>" not in text
    assert "Precision by distance is left out: packing left out the boxes" in words
    why = "There are no pictures: packing left out boxes and messages."
    assert f"1 violation in 2 drives. {why}" in words
    assert "of them shown" not in words
    assert "--case" not in words  # packed drives cannot be shown


def test_ages_are_delays_rounded_up_to_steps(tmp_path: Path) -> None:
    folder = write_little(tmp_path / "c", [("late", "none"), ("late", "latency")], ["0"], [1])
    assert describe_planning_steps(collect_campaigns([folder])) == ""
    header = folder / "campaign.yaml"
    header.write_text(
        header.read_text().replace(
            "settings:",
            "settings:\n  tick: 0.05\n  perceive_every: 4\n  interference:\n    none: []\n"
            "    latency:\n    - _target_: harness.channel.interference.latency.Uniform\n"
            "      low: 0.5\n      high: 1.0",
        )
    )
    text = describe_planning_steps(collect_campaigns([folder]))
    assert "0.2 s apart" in text
    assert text.endswith("Latency of 0.5 to 1 s is an age of 0.6, 0.8 or 1 s.")


def test_only_delays_with_limits_are_read() -> None:
    target = "harness.channel.interference.latency.Uniform"
    delay = {"_target_": target, "low": 0.2, "high": 0.4}
    conditions = {"none": [], "a": [delay], "both": [delay, delay], "odd": [{"low": 1}], "no": 3}
    assert list(list_uniform_delays({"interference": conditions})) == [("a", (0.2, 0.4))]
    assert not list(list_uniform_delays({}))
