"""What answers: our own server or CARLA, started here, or a CARLA that runs already."""

from harness.world.simulators.carla_server import CarlaSimulator
from harness.world.simulators.carlite import CarliteSimulator
from harness.world.simulators.keeper import LINUX, end_with_parent
from harness.world.simulators.lease import LaunchError, Simulator, SimulatorServer

__all__ = [
    "LINUX",
    "CarlaSimulator",
    "CarliteSimulator",
    "LaunchError",
    "Simulator",
    "SimulatorServer",
    "end_with_parent",
]
