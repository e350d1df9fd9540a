"""One route: a server of carlite, and the planner's own leaderboard in the planner's own Python."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.carlite.background import start_background_server
from harness.carlite.errors import UserError
from tools.planners.results import RouteResult, describe_record, read_leaderboard_record
from tools.planners.routes import BenchmarkRoute

NEWER_PYTHON = Path(__file__).parent / "newer_python"
EVALUATOR = Path("leaderboard", "leaderboard", "leaderboard_evaluator_local.py")
AGENT = Path("team_code", "autopilot.py")
PARTS = ("leaderboard", "scenario_runner", "team_code")


@dataclass(frozen=True, kw_only=True)
class PlannerSetup:
    """What is driven, and with what."""

    garage: Path
    """Checkout of carla_garage, branch leaderboard_2."""
    python: Path
    """Python with the client and with what the checkout needs."""
    agents: Path
    """Folder with CARLA's package `agents`."""
    routes_file: Path
    maps: Path
    out: Path
    limit: float
    """Seconds for a route, as measured by a clock."""
    revision: str


def check_planner_setup(setup: PlannerSetup) -> None:
    """Refuse what cannot run, before a server is started."""
    for path in (setup.garage / EVALUATOR, setup.garage / AGENT):
        if not path.is_file():
            raise UserError(f"--garage: {path}: file not found (branch leaderboard_2 has it)")
    if not os.access(setup.python, os.X_OK) or setup.python.is_dir():
        raise UserError(f"--python: {setup.python}: no program")
    if not (setup.agents / "agents" / "navigation").is_dir():
        raise UserError(f"--agents: {setup.agents}: no folder agents/navigation")


def build_planner_command(setup: PlannerSetup, route: BenchmarkRoute, port: int) -> list[str]:
    """Return the leaderboard's command line."""
    return [
        str(setup.python), str(setup.garage / EVALUATOR),
        f"--port={port}", f"--traffic-manager-port={port + 2}", "--traffic-manager-seed=0",
        f"--routes={setup.routes_file}", f"--routes-subset={route.id}", "--repetitions=1",
        f"--agent={setup.garage / AGENT}", f"--agent-config={setup.routes_file}", "--track=MAP",
        f"--checkpoint={setup.out / route.id}.json", f"--timeout={setup.limit:g}",
        f"--debug-checkpoint={setup.out / route.id}.live.txt", "--debug=0",
    ]  # fmt: skip


def build_planner_environment(setup: PlannerSetup) -> dict[str, str]:
    """Return the environment of `start_expert_local.sh`, without the paths of this process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    folders = [NEWER_PYTHON, *(setup.garage / part for part in PARTS), setup.agents]
    return kept | {
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
        "WORK_DIR": str(setup.garage),
        "LEADERBOARD_ROOT": str(setup.garage / "leaderboard"),
        "SCENARIO_RUNNER_ROOT": str(setup.garage / "scenario_runner"),
        "ROUTES": str(setup.routes_file),
        "SAVE_PATH": str(setup.out / "saved"),
        "DATAGEN": "0",
        "DEBUG_CHALLENGE": "0",
    }


def drive_route(setup: PlannerSetup, route: BenchmarkRoute) -> RouteResult:
    """Drive a route on a new server; whatever happens, there is a result."""
    checkpoint = setup.out / f"{route.id}.json"
    checkpoint.unlink(missing_ok=True)
    before = _get_processor_seconds()
    with start_background_server(town=route.town, maps=setup.maps) as server:
        code = run_within_limit(
            build_planner_command(setup, route, server.port),
            build_planner_environment(setup),
            (setup.out, setup.out / f"{route.id}.log"),
            setup.limit,
        )
        (setup.out / f"{route.id}.server.log").write_text(server.read_log())
    record = read_leaderboard_record(checkpoint, route.id)
    fields = describe_record(record) if record else {"outcome": f"no record, exit code {code}"}
    if code is None:
        fields["outcome"] = "time limit"
    return RouteResult(
        route=route.id, town=route.town, scenarios=route.scenarios, program="PDM-Lite",
        revision=setup.revision, processor_s=_get_processor_seconds() - before, **fields,
    )  # fmt: skip


def run_within_limit(
    command: list[str], environment: dict[str, str], place: tuple[Path, Path], limit: float
) -> int | None:
    """Run a command; return its exit code, None if the time limit ended it with its children.

    Args:
        command: to run.
        environment: of the process.
        place: its working directory, and the file of its output.
        limit: in seconds.
    """
    folder, log_file = place
    with log_file.open("w") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):  # all of the group have ended
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _get_processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
