"""A hazard that fails, though it has a place, is a scenario error; a server that is gone is not."""

from __future__ import annotations

import os
import signal

import carla
import pytest

from harness.common.errors import AttemptError, FailureClass, ScenarioError, UserError
from harness.types.vocabulary import Pose
from harness.world.attempt_context import EgoState
from harness.world.hazards.actors import HazardActors
from harness.world.hazards.catalogue import build_hazard
from harness.world.hazards.hazard import convert_hazard_errors
from harness.world.hazards.spec import HazardSpec
from harness.world.session import convert_client_errors, open_session
from harness.world.simulators import CarliteSimulator
from tests.conftest import Carlite
from tests.standin.watch import family, server_of
from tests.world.alone import alone
from tests.world.staging import context_of

PATCHES = HazardSpec(route="7", kind="control_loss", station=30.0)


def test_what_a_hazard_raises_bears_its_name(carlite: Carlite) -> None:
    with (
        pytest.raises(AttemptError) as caught,
        convert_client_errors(carlite.host, carlite.port),
        convert_hazard_errors(build_hazard(PATCHES)),
    ):
        raise IndexError("of a list")
    assert caught.value.failure == "scenario_error"
    assert str(caught.value) == "control_loss at 30 m: IndexError: of a list"


@pytest.mark.parametrize("problem", [UserError("no such kind"), AttemptError("disk", "full")])
def test_what_has_a_name_keeps_it(problem: Exception) -> None:
    with pytest.raises(type(problem)) as caught, convert_hazard_errors(build_hazard(PATCHES)):
        raise problem
    assert caught.value is problem


def test_late_answers_within_a_hazard_are_the_servers(carlite: Carlite) -> None:
    with (
        pytest.raises(AttemptError) as caught,
        convert_client_errors(carlite.host, carlite.port),
        convert_hazard_errors(build_hazard(PATCHES)),
    ):
        raise RuntimeError("time-out of 20000ms while waiting for the simulator")
    assert caught.value.failure == "rpc_timeout"


def lose_the_server(host: str, port: int, pid: int) -> FailureClass | None:
    """Kill the server while a hazard acts and say what the attempt ends in."""
    try:
        with open_session(host, port, town="Crucible05", tick_seconds=0.05, seed=7) as session:
            session.client.set_timeout(3.0)
            with convert_hazard_errors(build_hazard(PATCHES)):
                os.kill(pid, signal.SIGKILL)
                session.world.get_actors()
    except AttemptError as problem:
        return problem.failure
    return None


@pytest.mark.thorough
def test_a_server_that_goes_within_a_hazard_has_crashed() -> None:
    with CarliteSimulator().lease_server("Crucible05") as server:
        process = server_of(family(), server.port)
        ended = alone(lose_the_server, server.host, server.port, process.pid)
    assert ended == "server_crash"


def test_a_figure_that_the_simulator_has_not_got(client: carla.Client, world: carla.World) -> None:
    hazard_actors = HazardActors(context_of(client, world))
    with pytest.raises(
        RuntimeError, match=r"^the simulator has no blueprint vehicle\.horse\.cart$"
    ):
        hazard_actors.spawn_actor("vehicle.horse.cart", Pose(0.0, 0.0))


def test_a_patch_that_is_refused_is_no_want_of_room(
    client: carla.Client, world: carla.World
) -> None:
    """Friction triggers have no body; a friction that is no number is why one can be refused."""
    hazard = build_hazard(HazardSpec(route="straight", kind="control_loss", station=30.0))
    hazard.spec.parameters["friction"] = float("nan")
    with (
        pytest.raises(ScenarioError, match="friction trigger, which needs no room"),
        convert_hazard_errors(hazard),
    ):
        hazard.place_in_world(context_of(client, world))
    hazard.remove_from_world()


def test_actors_that_leave_the_world_are_missed_until_it_is_over(
    client: carla.Client, world: carla.World
) -> None:
    hazard = build_hazard(HazardSpec(route="straight", kind="control_loss", station=30.0))
    hazard.place_in_world(context_of(client, world))
    world.tick()
    ego = EgoState(frame=1, time=1.0, vehicle_in_world=Pose(0.0, 0.0), speed=8.0, station=0.0)
    hazard.step_hazard(ego)
    client.apply_batch_sync([carla.command.DestroyActor(hazard.actors[1].id)])
    world.tick()
    with pytest.raises(RuntimeError, match=r"^no longer in the world: static.trigger.friction$"):
        hazard.step_hazard(ego)
    hazard.finish("over", "the ego has left the patches")
    hazard.step_hazard(ego)
    hazard.remove_from_world()
