"""The planner gate: routes, results, limits, tables; a whole route where a checkout is."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from harness.carlite.errors import UserError
from tools.planners import __main__ as command
from tools.planners.drive import (
    NEWER_PYTHON,
    PlannerSetup,
    build_planner_command,
    build_planner_environment,
    run_within_limit,
)
from tools.planners.results import (
    RouteResult,
    compute_minimum_speed_factor,
    describe_record,
    read_leaderboard_record,
    read_route_results,
    write_route_result,
)
from tools.planners.routes import BenchmarkRoute, choose_routes, read_benchmark_routes
from tools.planners.table import (
    BEGIN,
    END,
    format_page_section,
    format_result_table,
    write_page_section,
)

ROUTES = """<routes>
  <route id="7" town="Town02"><scenarios><scenario type="Accident"/></scenarios></route>
  <route id="3" town="Town01"><scenarios/></route>
  <route id="5" town="Town02"><scenarios/></route>
  <route id="9" town="Town12"><scenarios/></route>
</routes>"""
SLOW = "Average speed is 60.5% of the surrounding traffic's one"


def make_record(route: str = "7", **changes: Any) -> dict[str, Any]:
    """A record as leaderboard 2 writes it, with a collision and one check of the minimum speed."""
    return {
        "route_id": f"RouteScenario_{route}_rep0",
        "status": "Completed",
        "infractions": {"collisions_vehicle": ["hit"], "min_speed_infractions": [SLOW]},
        # 100 % * 0.6 * (1 - 0.3 * 0.395)
        "scores": {"score_route": 100.0, "score_penalty": 0.5289, "score_composed": 52.89},
        "meta": {"route_length": 100.0, "duration_game": 30.0, "duration_system": 60.0},
    } | changes


def make_result(route: str = "7", **changes: Any) -> RouteResult:
    fields = {
        "route": route, "town": "Town02", "scenarios": ("Accident",), "program": "PDM-Lite",
        "revision": "abc1234", "processor_s": 60.0,
        **describe_record(make_record(route)), **changes,
    }  # fmt: skip
    return RouteResult(**fields)


@pytest.fixture
def routes_file(tmp_path: Path) -> Path:
    path = tmp_path / "routes.xml"
    path.write_text(ROUTES)
    return path


def test_routes_are_chosen_in_the_order_of_the_file(routes_file: Path) -> None:
    routes = read_benchmark_routes(routes_file)
    towns = {"Town01", "Town02"}
    assert routes[0] == BenchmarkRoute("7", "Town02", ("Accident",))
    assert [route.id for route in choose_routes(routes, towns, "all")] == ["7", "3", "5"]
    assert [route.id for route in choose_routes(routes, towns, "first")] == ["7", "3"]
    assert [route.id for route in choose_routes(routes, towns, "5,7")] == ["7", "5"]
    with pytest.raises(UserError, match="9: its town has no file"):
        choose_routes(routes, towns, "9")
    with pytest.raises(UserError, match="8: no such id"):
        choose_routes(routes, towns, "8")


@pytest.mark.parametrize(
    "text",
    [
        "no XML", "<routes/>", '<routes><route id="../x" town="Town01"/></routes>',
        '<routes><route id="1" town="../x"/></routes>',
        '<routes><route id="1" town="A"/><route id="1" town="A"/></routes>',
    ],
)  # fmt: skip
def test_bad_files_of_routes_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "routes.xml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"routes\.xml"):
        read_benchmark_routes(path)


def test_the_minimum_speed_is_taken_out_as_the_leaderboard_put_it_in() -> None:
    assert compute_minimum_speed_factor([]) == 1.0
    assert compute_minimum_speed_factor(["0%"]) == pytest.approx(0.7)
    assert compute_minimum_speed_factor([SLOW, "100.0% of"]) == pytest.approx(0.8815)
    fields = describe_record(make_record())
    assert fields["score"] == 52.89
    assert fields["score_without_speed"] == pytest.approx(60.0, abs=1e-9)
    with pytest.raises(UserError, match="without a percentage"):
        compute_minimum_speed_factor(["slow"])
    with pytest.raises(UserError, match="lacks a field: KeyError"):
        describe_record({"status": "Completed"})


def test_the_record_of_the_asked_route_is_read(tmp_path: Path) -> None:
    path = tmp_path / "7.json"
    assert read_leaderboard_record(path, "7") is None
    path.write_text("")  # the leaderboard empties the file before it drives
    assert read_leaderboard_record(path, "7") is None
    records = [make_record("70"), make_record("7")]
    path.write_text(json.dumps({"_checkpoint": {"records": records}}))
    assert read_leaderboard_record(path, "7") == records[1]
    assert read_leaderboard_record(path, "8") is None
    path.write_text("[]")
    with pytest.raises(UserError, match="no checkpoint"):
        read_leaderboard_record(path, "7")


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    failed = make_result("5", outcome="no record, exit code 1", completion=None)
    for result in (make_result(), failed):
        write_route_result(tmp_path, result)
    assert read_route_results(tmp_path) == {"7": make_result(), "5": failed}
    (tmp_path / "8.result.json").write_text('{"scenarios": []}')
    with pytest.raises(UserError, match=r"8\.result\.json"):
        read_route_results(tmp_path)


def test_a_time_limit_ends_children_too(tmp_path: Path) -> None:
    child = "import time; time.sleep(600)"
    parent = (
        "import subprocess, sys, time\n"
        f"print(subprocess.Popen([sys.executable, '-c', {child!r}]).pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    log = tmp_path / "log"
    code = run_within_limit(
        [sys.executable, "-c", parent], dict(os.environ), (tmp_path, log), limit=5.0
    )
    assert code is None
    pid = int(log.read_text())
    while Path(f"/proc/{pid}/stat").exists():  # ends when the process is gone or was collected
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(0.01)
    assert run_within_limit([sys.executable, "-c", "exit(3)"], {}, (tmp_path, log), 60.0) == 3


def test_newer_python_has_the_lost_method_again(tmp_path: Path) -> None:
    setup = make_setup(tmp_path, Path(sys.executable))
    environment = build_planner_environment(setup)
    assert environment["PYTHONPATH"].split(os.pathsep)[0] == str(NEWER_PYTHON)
    program = (
        "import xml.etree.ElementTree as ET\n"
        "print([child.tag for child in ET.fromstring('<a><b/><c/></a>').getchildren()])\n"
        "import numpy\n"
        "print(numpy.zeros(1, dtype=numpy.float).dtype)"
    )
    log = tmp_path / "log"
    code = run_within_limit([sys.executable, "-c", program], environment, (tmp_path, log), 60.0)
    assert (code, log.read_text()) == (0, "['b', 'c']\nfloat64\n")


def make_setup(folder: Path, python: Path) -> PlannerSetup:
    return PlannerSetup(
        garage=folder / "garage", python=python, agents=folder, routes_file=folder / "routes.xml",
        maps=folder, out=folder, limit=60.0, revision="abc1234",
    )  # fmt: skip


def test_the_command_line_names_one_route_and_the_port(tmp_path: Path) -> None:
    words = build_planner_command(
        make_setup(tmp_path, Path("python")), BenchmarkRoute("7", "Town02", ()), 4000
    )
    assert {"--port=4000", "--traffic-manager-port=4002", "--routes-subset=7"} <= set(words)


def test_tables_give_both_scores_and_leave_the_undecided_out_of_the_mean() -> None:
    cut = make_result("5", outcome="time limit", score_without_speed=1.0)
    table = format_result_table([make_result(), cut])
    assert "60.0   52.9" in table
    assert "0.50" in table  # 30 s of the world in 60 s of a processor
    assert "1 of 2 routes judged, 1 driven to the end: mean score 60.0" in table
    assert "89.2" in table
    assert "0 of 1 routes judged" in format_result_table([cut])
    assert "none" in format_result_table([make_result(infractions=())])
    # without a record nothing is known of infractions
    assert "none" not in format_result_table([make_result(infractions=(), completion=None)])


def test_the_section_of_the_page_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    perfect = make_result("5", score_without_speed=100.0)
    section = format_page_section([make_result(), perfect], {})
    write_page_section(page, section)
    write_page_section(page, section)
    text = page.read_text()
    assert text.startswith("before\n" + BEGIN)
    assert text.endswith(END + "\nafter\n")
    assert "old" not in text
    assert text.count("not investigated") == 1  # not where only speed was too low
    assert "planner |" in format_page_section([make_result()], {"7": "planner"})
    page.write_text("no marks")
    with pytest.raises(UserError, match="marks"):
        write_page_section(page, section)
    assert page.read_text() == "no marks"


def make_arguments(folder: Path, **changes: str) -> list[str]:
    """Arguments of a run; the checkout has the files that are looked for, and nothing in them."""
    garage = folder / "garage"
    for name in (
        "leaderboard/leaderboard/leaderboard_evaluator_local.py",
        "team_code/autopilot.py",
    ):
        (garage / name).parent.mkdir(parents=True, exist_ok=True)
        (garage / name).touch()
    (folder / "agents" / "navigation").mkdir(parents=True, exist_ok=True)
    (folder / "Town02.xodr").touch()
    values = {
        "garage": str(garage), "python": sys.executable, "agents": str(folder),
        "maps": str(folder), "out": str(folder / "out"),
        "routes_file": str(folder / "routes.xml"), **changes,
    }  # fmt: skip
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]


def test_driven_routes_are_not_driven_again(
    tmp_path: Path, routes_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The evaluator of this checkout is empty: a route that is driven again would leave a log."""
    out = routes_file.parent / "out"
    out.mkdir()
    write_route_result(out, make_result())
    assert command.run_planners_command(make_arguments(tmp_path)) == 0
    assert "1 of 1 routes judged" in capsys.readouterr().out
    assert [path.name for path in out.iterdir()] == ["7.result.json"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"limit": "nan"}, "--limit"),
        ({"limit": "0"}, "--limit"),
        ({"maps": "nowhere"}, "--maps"),
        ({"garage": "nowhere"}, "--garage"),
        ({"python": "nowhere"}, "--python"),
        ({"agents": "nowhere"}, "--agents"),
        ({"routes_file": "nowhere"}, "nowhere"),
        ({"routes": "3"}, "--routes: 3"),
    ],
)
def test_bad_arguments_are_one_line(
    tmp_path: Path,
    routes_file: Path,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, str],
    message: str,
) -> None:
    assert routes_file.exists()
    assert command.run_planners_command(make_arguments(tmp_path, **changes)) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


GARAGE = os.environ.get("CARLA_GARAGE_ROOT")


@pytest.mark.thorough
@pytest.mark.skipif(GARAGE is None, reason="CARLA_GARAGE_ROOT names no checkout of carla_garage")
def test_the_routes_of_a_checkout_are_read() -> None:
    path = Path(GARAGE or "", command.ROUTES_FILE)
    routes = read_benchmark_routes(path)
    assert len(routes) == 220
    towns = {f"Town{number:02}" for number in range(1, 8)} | {"Town10HD"}
    first = [route.id for route in choose_routes(routes, towns, "first")]
    assert first == ["24206", "24211", "24224", "24240", "24258", "24367", "24759", "24785"]
