"""All checks, one after another; each by itself, so that one that fails costs no other."""

from __future__ import annotations

from collections.abc import Iterator

from harness.doctor.finding import DoctorFinding, DoctorPlaces
from harness.doctor.machine import (
    check_client_threads,
    check_disk,
    check_gpu,
    check_memory,
    check_ports,
    check_python,
)
from harness.doctor.packages import check_packages
from harness.doctor.simulation import (
    check_cache,
    check_carla,
    check_carlite,
    check_files,
    check_maps,
)


def examine_machine(places: DoctorPlaces) -> Iterator[DoctorFinding]:
    """Yield what every check finds, as soon as it is found."""
    yield check_python()
    yield from check_packages()
    yield check_files()
    yield check_memory()
    yield check_client_threads()
    yield check_disk(places)
    yield check_ports()
    yield check_cache()
    yield check_carlite()
    yield check_carla(places)
    yield check_maps(places)
    yield from check_gpu()
