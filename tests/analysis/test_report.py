"""The report: its page against its tables, its sentences against their intervals, odd campaigns."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.collection import CampaignCollection, collect_campaigns
from analysis.comparison import COMPARED_SURROGATES
from analysis.contrasts import ArmContrasts, compute_contrasts
from analysis.report.gather import MOST_STRIPS, gather_report
from analysis.report.page import SECTIONS, capitalise_note
from analysis.report.script import SCRIPT
from analysis.statistics.intervals import compute_expanded_percentiles, sample_bootstrap_weights
from analysis.surrogates import EARLY
from analysis.surrogates import SURROGATE_MEASURES as DANGERS
from harness.records.ledger import append_try
from tests.analysis import again
from tests.analysis.little import Drive, write_little
from tests.analysis.page import Page
from tests.keys import key_of

pytestmark = pytest.mark.thorough

ARM = [("late", "none")]
TABLES = [
    *("driving", "patterns", "patterns_disturbed", "before_violation", "bands", "along_route"),
    *(
        "precision",
        "precision_bands",
        "seeds",
        "ages",
        "ages_used",
        "staleness",
        "messages",
        "fates",
    ),
]


@pytest.fixture(scope="module")
def page(out: Path) -> Page:
    return Page((out / "report.html").read_text())


@pytest.fixture(scope="module")
def contrasts(collection: CampaignCollection) -> ArmContrasts:
    return compute_contrasts(collection)


def test_the_page_is_whole_and_needs_nothing_else(out: Path, page: Page) -> None:
    text = (out / "report.html").read_text()
    assert not page._path
    assert len(page.ids) == len(set(page.ids))
    assert page.links
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert not page.loads
    assert not re.search(r"@import|url\(|https?://|<script [^>]*>", text)
    assert page.count["script"] == 1
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    assert f"script-src &#x27;sha256-{digest}&#x27;" in text
    assert f"<script>{SCRIPT}</script>" in text
    assert page.count["svg"] > 20
    assert not [path.name for path in out.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("name", TABLES)
def test_every_cell_of_the_page_is_in_its_file(out: Path, page: Page, name: str) -> None:
    cells = pd.read_csv(out / f"{name}.csv", keep_default_na=False)
    parquet = pd.read_parquet(out / f"{name}.parquet")
    assert len(parquet) == len(cells)
    assert (out / f"{name}.tex").read_text().startswith("%")
    by = list(cells.columns[: list(cells.columns).index("measure")])
    shown = next(
        rows
        for rows in page.tables.values()
        if [row.strip() for row in rows[0][: len(by)]] == by
        and {row.strip() for row in rows[0]} >= set(cells["measure"])
        and len(rows) - 1 == len(cells.drop_duplicates(by))
        and names_of(rows[1:], by) == {tuple(map(str, item)) for item in cells[by].to_numpy()}
    )
    head = [item.strip() for item in shown[0]]
    at = {(*row[by].astype(str), row["measure"]): row for _, row in cells.iterrows()}
    for row in shown[1:]:
        names = tuple(item.strip() for item in row[: len(by)])
        for measure, result in zip(head[len(by) : -2], row[len(by) : -2], strict=True):
            part = at[(*names, measure)]
            numbers = [
                float(element) for element in re.findall(r"(?<![\d.])-?\d+(?:\.\d+)?", result)
            ]
            wanted = [part[name] for name in ("value", "low", "high") if part[name] != ""]
            digits = max(len(str(result.split()[0]).partition(".")[2]), 0)
            for number, true in zip(numbers, wanted, strict=False):
                assert abs(number - float(true)) <= 0.5 * 10.0**-digits + 1e-9, (names, measure)
            assert len(numbers) >= len(wanted)
            n = int(result.split("n ")[1]) if "n " in result else int(row[-2])
            assert n == int(part["n"])


def names_of(rows: list[list[str]], by: list[str]) -> set[tuple[str, ...]]:
    return {tuple(item.strip() for item in row[: len(by)]) for row in rows}


def test_differences_are_what_pairs_differ_by(little: Path, contrasts: ArmContrasts) -> None:
    drives = {
        (f"{attempt.system}/{attempt.condition}", attempt.route, attempt.seed): attempt.ours
        for attempt in again.attempts(little)
    }
    table = contrasts.select_measure("violations, %")
    assert set(zip(table["arm_a"], table["arm_b"], strict=True)) == {
        ("late/none", "late/latency"),
        ("alone/none", "early/none"),
        ("alone/none", "late/none"),
        ("early/none", "late/none"),
    }
    routes, seeds = [str(number) for number in range(6)], (1, 2)
    for _, row in table.iterrows():
        by_route = [
            [
                100.0 * (drives[row["arm_b"], route, seed]["violation"] is not None)
                - 100.0 * (drives[row["arm_a"], route, seed]["violation"] is not None)
                for seed in seeds
            ]
            for route in routes
        ]
        assert row["difference"] == pytest.approx(sum(map(sum, by_route)) / 12)
        resampled = [
            sum(times * sum(part) for times, part in zip(weights, by_route, strict=True)) / 12
            for weights in sample_bootstrap_weights(6)
        ]
        low, high = np.quantile(resampled, compute_expanded_percentiles(6))
        if low < high:
            assert (row["low"], row["high"]) == (pytest.approx(low), pytest.approx(high))


def test_differences_are_typeset_as_they_are_counted(out: Path) -> None:
    table = pd.read_csv(out / "differences.csv")
    lines = (out / "differences.tex").read_text().splitlines()
    head = next(line for line in lines if line.startswith("second"))
    measures = [word.replace("\\%", "%").strip() for word in head.split("&")[2:-1]]
    for (a, b), group in table.groupby(["arm_a", "arm_b"]):
        names = " & ".join(item.replace("_", r"\_") for item in (str(b), str(a)))
        cells = next(line for line in lines if line.startswith(names)).split("&")[2:-1]
        for measure, cell in zip(measures, cells, strict=True):
            row = group[group["measure"] == measure].iloc[0]
            numbers = [row[name] for name in ("difference", "low", "high")]
            known = [f"{number:.1f}" for number in numbers if math.isfinite(number)]
            assert re.findall(r"-?\d+\.\d", cell) == known


def test_regressions_are_typeset_with_their_numbers(out: Path) -> None:
    """Balanced, as many cells in each row as columns, and the numbers of regression.csv."""
    table = pd.read_csv(out / "regression.csv")
    checks = pd.read_csv(out / "regression_checks.csv")
    text = (out / "regression.tex").read_text()
    assert text.count("{") == text.count("}")
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    columns = re.fullmatch(r"\\begin\{tabular\}\{(l+r+)\}", lines[0])
    assert columns
    assert [lines[at] for at in (1, 3, -2, -1)] == [
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    rows = [line.removesuffix(r" \\").split(" & ") for line in (lines[2], *lines[4:-2])]
    assert {len(row) for row in rows} == {len(columns[1])}
    assert len(rows) - 1 == len(table) > 6
    condition = method = ""
    for (_, part), cells in zip(table.iterrows(), rows[1:], strict=True):
        condition, method = cells[0] or condition, cells[1] or method
        assert (condition, cells[2]) == (part["condition"], part["term"])
        assert part["method"].startswith(f"{method}:")
        shown = re.findall(r"\$[\d.]+\\cdot10\^\{-?\d+\}\$|\d[\d.]*", cells[4])
        for number, name in zip(shown, ("odds_ratio", "low", "high"), strict=True):
            digits, _, power = number.strip("$}").partition(r"\cdot10^{")
            value = float(digits) * 10.0 ** int(power or 0)
            assert value == pytest.approx(part[name], rel=0.005)
        for cell, name in zip(cells[5:7], ("p", "p_holm"), strict=True):
            few = cell.startswith("$<$")
            assert part[name] < 0.001 if few else float(cell) == pytest.approx(part[name], abs=5e-4)
        part_name = "risk sets" if method == "timing-fair" else "last 10 s"
        known = checks[(checks["condition"] == condition) & (checks["part"] == part_name)]
        says = known.loc[known["check"] == "events per predictor", "result"].item()
        assert says.startswith(f"{cells[7]} (")


def test_differences_in_the_page_are_those_of_the_file(out: Path, page: Page) -> None:
    table = pd.read_csv(out / "differences.csv")
    danger, surrogate = (
        table["measure"].isin(list(names)) for names in (DANGERS, COMPARED_SURROGATES)
    )
    # scores and costs first; the second table counts pairs that ended at two places
    table = pd.concat([table[~danger].assign(early=False), table[surrogate].assign(early=True)])
    rows = [
        row
        for rows in page.tables.values()
        for at, head in enumerate(rows)
        if "second minus first" in [item.strip() for item in head]
        for row in rows[at + 1 :]
    ]
    for (_, part), row in zip(table.iterrows(), rows, strict=True):
        cells = [item.strip() for item in row]
        assert cells[:3] == [part["arm_b"], part["arm_a"], part["measure"]]
        assert [float(cell) for cell in cells[3:5]] == pytest.approx(
            [part["b"], part["a"]], abs=0.051
        )
        numbers = [part[name] for name in ("difference", "low", "high")]
        shown = [float(element) for element in re.findall(r"[-+]?\d+\.\d+", cells[5])]
        known = [number for number in numbers if math.isfinite(number)]
        assert shown == pytest.approx(known, abs=0.051)
        for cell, name in zip(cells[6:8], ("p", "p page"), strict=True):
            known_p = math.isfinite(part[name])
            assert (cell == "-") != known_p
            assert not known_p or float(cell) == pytest.approx(part[name], abs=6e-5)
        assert cells[8:10] == [str(part["pairs"]), str(part["routes"])]
        assert cells[10:] == [str(part[EARLY])] * part["early"]


def test_only_what_the_page_declares_is_called_significant(little: Path, out: Path) -> None:
    """The file has the page's p of the declared tests, and of no other."""
    table = pd.read_csv(out / "differences.csv")
    declared = table["measure"].isin(["driving score", "violations, %"])
    assert table["p page"].notna().equals(declared)
    assert (table.loc[declared, "p page"] >= table.loc[declared, "p"] - 1e-12).all()
    zero_inside = (table["low"] <= 0) & (table["high"] >= 0)
    assert not (table["clear"] & zero_inside).any()
    assert not (table["clear"] & ~(table["p page"] < 0.05)).any()
    report = gather_report(collect_campaigns([little]), False, lambda _: None)
    kinds = report.declaration.tests["kind"].value_counts()
    headlines = [
        regression.headline for regression in report.regressions if regression.headline is not None
    ]
    assert kinds["comparison"] == declared.sum()
    assert kinds.get("odds", 0) == sum(len(headline.terms) for headline in headlines)
    assert f"of {declared.sum() // 2} comparisons" in report.declaration.describe_tests()


def test_ages_are_quantiles_of_all_delivered(little: Path, out: Path) -> None:
    result = pd.read_csv(out / "ages.csv").set_index(["system", "condition", "measure"])["value"]
    shares = {"5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95}
    for arm in (("late", "latency"), ("early", "none")):
        some = [
            attempt
            for attempt in again.attempts(little)
            if (attempt.system, attempt.condition) == arm
        ]
        ages = sorted(
            age for item in some for age in item.table("messages")["age_measured"].dropna()
        )
        for name, share in shares.items():
            least = next(
                age for number, age in enumerate(ages, 1) if number >= share * len(ages) - 1e-9
            )
            assert result[(*arm, name)] == pytest.approx(least)


def test_violations_are_all_there(little: Path, out: Path, page: Page) -> None:
    table = pd.read_csv(out / "violations.csv", dtype={"route": str})
    slow = [
        (
            attempt.system,
            attempt.condition,
            attempt.route,
            attempt.seed,
            attempt.ours["violation"]["kind"],
        )
        for attempt in again.attempts(little)
        if attempt.ours["violation"]
    ]
    columns = ["system", "condition", "route", "seed", "violation"]
    assert sorted(slow) == [tuple(item) for item in table[columns].to_numpy().tolist()]
    assert table["case"].tolist() == list(range(1, len(slow) + 1))
    described = [item for item in page.ids if item.startswith("case-")]
    assert len(described) == len(slow)
    strips = (out / "report.html").read_text().count('class="strip"')
    assert strips == min(len(slow), MOST_STRIPS)
    assert all(command in page.words for command in table["command"][:strips])
    assert main(table["command"].iloc[0].split()[1:]) == 0


def test_failures_and_missing_attempts_are_reported(tmp_path: Path) -> None:
    folder = write_little(tmp_path / "c", ARM, ["0", "1"], [1, 2])
    done = key_of("late", "none", "0", 1)
    append_try(folder, done, number=1, failure="rpc_timeout", message="silent", server_tail="")
    lost = key_of("late", "none", "7", 1)
    for number in (1, 2):
        append_try(
            folder, lost, number=number, failure="server_crash", message="signal 11", server_tail=""
        )
    report = gather_report(collect_campaigns([folder]), True, lambda _: None)
    assert report.failures.to_numpy().tolist() == [
        ["rpc_timeout", 1, 1, 1],
        ["server_crash", 2, 1, 0],
    ]
    assert main(["report", str(folder)]) == 0
    words = Page((folder / "report" / "report.html").read_text()).words
    assert "1 of 5 attempts has no result: 1 server_crash" in words
    assert "1 planned attempt without a result" in words
    assert "signal 11" in words


def odd_campaigns(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield campaigns with little in them, and words of their reports."""
    routes = list("0123")
    keys = [key_of(*ARM[0], route, seed) for route in routes for seed in (1, 2)]
    for name, drive, words in (
        ("short", Drive(6, "off_road"), ["8 dropped, drive shorter than 10 s"]),
        (
            "clean",
            Drive(14),
            [
                "0 of 8 rows of late with violation",
                "no violation in 8 drives of late",
                "No drive ended in a violation",
            ],
        ),
        ("bad", Drive(14, "blocked"), ["8 of 8 rows of late with violation: no contrast"]),
    ):
        drives = dict.fromkeys(keys, drive)
        yield write_little(folder / name, ARM, routes, drives=drives), words
    drives = {key: Drive(14, "blocked" if int(key.route) < 2 else "") for key in keys}
    yield write_little(folder / "apart", ARM, routes, drives=drives), ["Key findings"]
    empty = write_little(folder / "empty", [], ["0"], [1], systems=["late"])
    yield empty, ["No attempt has a result", "None: no attempt has a result"]
    failed = write_little(folder / "failed", [], ["0", "1"], [1], systems=["late"])
    append_try(
        failed,
        key_of("late", "none", "0", 1),
        number=1,
        failure="server_crash",
        message="signal 6",
        server_tail="",
    )
    yield failed, ["2 of 2 attempts have no result", "server_crash", "signal 6"]
    one = write_little(folder / "one", ARM, ["0"], [1])
    yield one, ["nothing to pair", "1 drive, 1 system"]


def test_odd_campaigns_have_sensible_reports(tmp_path: Path) -> None:
    for folder, words in odd_campaigns(tmp_path):
        assert main(["report", str(folder)]) == 0, folder
        page = Page((folder / "report" / "report.html").read_text())
        result = " ".join(page.words.split())
        assert all(word in result for word in words), (folder, words)
        assert "nan" not in result.lower().split()
        assert {link.removeprefix("#") for link in page.links} <= set(page.ids)


def test_what_campaigns_have_in_common_is_there_once(tmp_path: Path) -> None:
    folders = [write_little(tmp_path / name, ARM, [name], [1]) for name in ("3", "4", "5")]
    names = [str(folder) for folder in folders]
    assert main(["report", *names, "--results-only", "--out", str(tmp_path / "out")]) == 0
    words = Page((tmp_path / "out" / "report.html").read_text()).words
    section = words[words.index("What was run", words.index("Key findings")) :]
    section = section[: section.index("Driving score")]
    assert all(section.count(name) == 1 for name in names)
    assert section.count("Folder") == 1
    assert section.count("Revision") == section.count("Versions") == 1


def test_violations_of_several_folders_have_their_folder(tmp_path: Path) -> None:
    """Numbers count within a folder."""
    folders = []
    for name in ("3", "4"):
        drives = {key_of(*ARM[0], name, 1): Drive(20, "collision_vehicle")}
        folders.append(write_little(tmp_path / name, ARM, [name], [1], drives=drives))
    names = [str(folder) for folder in folders]
    assert main(["report", *names, "--results-only", "--out", str(tmp_path / "out")]) == 0
    words = Page((tmp_path / "out" / "report.html").read_text()).words
    assert all(words.count(f"{name}, 1 ") == 1 for name in names)


@pytest.mark.parametrize(
    ("note", "sentence"),
    [
        ("7 results are from a later try", "7 results are from a later try"),
        ("settings differ: routes", "Settings differ: routes"),
        ("late/none: 3 hazards were not run", "late/none: 3 hazards were not run"),
        ("mine: no routes folder", "mine: no routes folder"),
        ("warning: late/none: 3 of 8", "Warning: late/none: 3 of 8"),
    ],
)
def test_a_name_at_the_start_of_a_note_stays_as_it_is(note: str, sentence: str) -> None:
    assert capitalise_note(note) == sentence


def test_names_are_never_markup(tmp_path: Path) -> None:
    name = '<img src=x onerror="alert(1)">'
    folder = write_little(tmp_path / "c", [(name, "none"), (name, "</title>&")], ["0", "'\"<p>"])
    assert main(["report", str(folder)]) == 0
    page = Page((folder / "report" / "report.html").read_text())
    assert "img" not in page.count
    assert name in page.words
    assert not page.loads


def test_a_report_from_inside_the_folder_has_its_name(
    little: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(little)
    assert main(["report", ".", "--results-only", "--out", str(tmp_path)]) == 0
    words = Page((tmp_path / "report.html").read_text()).words
    assert "Campaign report: little" in words
    assert "All of little" in words


def test_results_alone_give_less_and_read_no_parquet(little: Path, tmp_path: Path) -> None:
    assert main(["report", str(little), "--results-only", "--out", str(tmp_path)]) == 0
    page = Page((tmp_path / "report.html").read_text())
    assert "made with --results-only" in page.words.lower()
    assert 'class="strip"' not in (tmp_path / "report.html").read_text()
    assert [item for item in page.ids if item.startswith("case-")]
    assert not (tmp_path / "bands.csv").exists()
    assert (tmp_path / "driving.csv").exists()


def test_equal_campaigns_give_equal_pages(little: Path, out: Path, tmp_path: Path) -> None:
    assert main(["report", str(little), "--out", str(tmp_path)]) == 0
    for name in ("report.html", "differences.csv", "ages.tex"):
        assert (tmp_path / name).read_bytes() == (out / name).read_bytes()


def test_sections_come_in_the_order_of_their_links(page: Page) -> None:
    links = [link for link in page.links if not link.startswith("#case-")]
    places = [page.ids.index(link.removeprefix("#")) for link in links]
    assert {link.removeprefix("#") for link in links} == {*SECTIONS} - {"campaigns"}
    assert all(a < b for a, b in pairwise(places))
