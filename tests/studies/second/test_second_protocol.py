"""The second study: its files can be planned; its page agrees with them and with the simulation."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from studies.decide.declaration import read_declaration
from studies.decide.planning import DecidePlan, StudyWords, plan_study
from studies.second.power import (
    ASSUMED,
    FOLDER,
    ORDER,
    SIMULATED,
    count_arms,
    list_power_rows,
    make_stratum_sampler,
    scale_rates,
)
from tests.conftest import ROOT

PAGE = (ROOT / "docs/study/second-protocol.md").read_text()
STAND_IN = (
    "routes.file=routes/cut_in/routes.xml",
    "routes.hazards=routes/cut_in/hazards.json",
    "routes.clean_under=null",
    "simulator.maps=null",
    "protocol=null",
)
"""Routes of the study follow from the digest of its page; nothing of them is here."""
BUDGET = 24 * 2 * 3600
"""s of a core."""


def plan_file(name: str) -> DecidePlan:
    file = FOLDER / f"{name}.yaml"
    words = StudyWords(
        declaration=read_declaration(file),
        file=file,
        overrides=STAND_IN,
        folders=[FOLDER / "conf"],
    )
    return plan_study(words, None)


@pytest.mark.thorough
def test_all_files_can_be_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert sorted(f"{name}.yaml" for name in ORDER) == sorted(
        file.name for file in FOLDER.glob("[a-z]-*.yaml")
    )
    plans = {name: plan_file(name) for name in ORDER}
    for name, plan in plans.items():
        arms = {arm for pair in plan.arms.values() for arm in pair}
        assert len(arms) == count_arms(plan.declaration), name
        assert plan.campaign["study"]["name"] == f"second-{name}"
    # the two loads are two radios
    links = plans["a-link"].campaign["link"]
    stations = {link["stations"] for link in links.values() if link and "stations" in link}
    assert stations == {50, 200}


def read_rows(first: str) -> list[list[str]]:
    """Return the cells of the page's rows that begin with one cell."""
    return [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in PAGE.splitlines()
        if line.startswith(f"| {first} |")
    ]


def test_the_page_counts_the_comparisons_of_the_files() -> None:
    for name in ORDER:
        counts = [row[2] for row in read_rows(f"`{name}`") if row[1].startswith("`")]
        assert counts == [str(len(read_declaration(FOLDER / f"{name}.yaml").comparisons))], name
        assert f"`{name}.yaml`" in PAGE


def test_the_budget_is_that_of_the_files() -> None:
    most = {name: read_declaration(FOLDER / f"{name}.yaml").most for name in ORDER}
    section = PAGE.split("## Budget")[1].split("## Deviations")[0]
    rows = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in section.splitlines()
        if line.startswith("| ") and not line.startswith(("| ---", "| what"))
    ]
    driven = set[str]()
    total = 0
    for what, drives, seconds, spent in rows:
        total += int(spent.replace(" ", ""))
        names = re.findall(r"`([a-g]-[a-z-]+)`", what)
        driven |= set(names)
        if names:
            assert int(drives) == sum(most[name] for name in names)
            assert int(spent.replace(" ", "")) == int(drives) * int(seconds)
    assert driven == set(ORDER)
    assert total <= BUDGET


def test_the_table_of_power_is_that_of_the_simulation() -> None:
    assert [row[0] for row in read_rows("`g-seeds`") if len(row) == 7] == ["`g-seeds`"] * 3
    for row in list_power_rows(["g-seeds"], SIMULATED):
        assert "| " + " | ".join(row) + " |" in PAGE.splitlines()


def test_assumed_rates_are_those_that_are_sampled() -> None:
    assert set(ASSUMED) == set(ORDER)
    rates = scale_rates([(0.05, 0.30), (0.05, 0.10)], 0.5)
    assert rates == [pytest.approx((0.1125, 0.2375)), pytest.approx((0.0625, 0.0875))]
    random = np.random.default_rng(1)
    strata = np.repeat([[0, 1]], 100_000, axis=0)
    differences = make_stratum_sampler(rates)(strata, random)
    for stratum, (more, fewer) in enumerate(rates):
        assert (differences[:, stratum] == 1).mean() == pytest.approx(more, abs=0.005)
        assert (differences[:, stratum] == -1).mean() == pytest.approx(fewer, abs=0.005)


def test_the_files_take_no_routes_but_those_of_the_page() -> None:
    for name in ORDER:
        text = Path(FOLDER / f"{name}.yaml").read_text()
        kept = "safe" if name == "f-harm" else "short"
        assert f"routes.clean_under=runs/second/{kept}-oracle" in text
        assert "protocol=docs/study/second-protocol.md" in text
        assert f"file: runs/second/{kept}/routes.xml" in text
