"""What decides whether two machines give the same bytes: processor, packages, kernels."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness.campaign.folder.campaign_folder import VERSIONED, get_package_version
from harness.common.errors import UserError
from harness.common.installation import PACKAGES
from harness.common.kernels import (
    NEEDED,
    get_processor_name,
    make_shared_kernel_environment,
    read_processor_facts,
)
from harness.records.digests import hash_file

INTEL = ("x86_64", "amd64")
"""Names of the architecture on whose processors systems without networks end alike."""
MATTERS = re.compile(r"(sse|ssse|avx|fma|f16c|bmi|amx)\w*")
"""Features of a processor by which libraries choose among kernels."""
CHOICES = (
    "NUMBA_CPU_NAME",
    "NUMBA_CPU_FEATURES",
    "NPY_DISABLE_CPU_FEATURES",
    "OPENBLAS_CORETYPE",
    "ATEN_CPU_CAPABILITY",
    "MKL_CBWR",
    "ONEDNN_MAX_CPU_ISA",
    "GLIBC_TUNABLES",
)
"""Environment variables that choose other kernels than the processor has."""
LOCK = "requirements.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePlatform:
    """A processor, and the packages that run on it."""

    machine: str  # architecture
    vendor: str
    family: str
    model: str  # number
    name: str  # as it is sold
    features: tuple[str, ...]  # that matter
    python: str
    libc: str = ""  # its sines and exponentials differ with its version
    versions: Mapping[str, str] = field(default_factory=dict)
    lock: str | None = None  # digest of requirements.lock
    choices: Mapping[str, str] = field(default_factory=dict)  # variables of attempt processes

    @property
    def is_intel(self) -> bool:
        """Whether it is of the x86-64 architecture."""
        return self.machine.lower() in INTEL

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {**asdict(self), "features": list(self.features)}


def detect_machine() -> MachinePlatform:
    """Return the machine that this runs on."""
    facts = read_processor_facts()
    lock = PACKAGES / LOCK
    return MachinePlatform(
        machine=platform.machine(),
        vendor=facts.get("vendor_id", ""),
        family=facts.get("cpu family", ""),
        model=facts.get("model", ""),
        name=get_processor_name(),
        features=tuple(sorted(filter(MATTERS.fullmatch, facts.get("flags", "").split()))),
        python=platform.python_version(),
        versions={name: known for name in VERSIONED if (known := get_package_version(name))},
        lock=hash_file(lock) if lock.is_file() else None,
        libc=" ".join(platform.libc_ver()).strip(),
        choices={
            **{name: os.environ[name] for name in CHOICES if name in os.environ},
            **make_shared_kernel_environment(),
        },
    )


def parse_machine(record: Any, file: Path) -> MachinePlatform:
    """Return the machine of a record."""
    try:
        given = {**record, "features": tuple(record["features"])}
        return MachinePlatform(**given)
    except (KeyError, TypeError) as problem:
        raise UserError(f"{file}: platform: {problem!r}") from None


def list_machine_differences(one: MachinePlatform, other: MachinePlatform) -> list[str]:
    """Return what differs between two machines that is to differ in none for equal bytes.

    Args:
        one: a machine.
        other: another one.

    Returns:
        Names of what differs.
    """
    names = (
        "machine",
        "vendor",
        "family",
        "model",
        "features",
        "libc",
        "choices",
        "python",
        "lock",
    )
    known = [name for name in names if getattr(one, name) != getattr(other, name)]
    known += list_version_differences(one, other)
    return [*known, *(["lock unknown"] if one.lock is None and other.lock is None else [])]


def has_same_kernels(one: MachinePlatform, other: MachinePlatform) -> bool:
    """Return whether systems without networks are to have equal bytes on both.

    Attempts compute with kernels that both have, and the C library's are of its version.
    """
    have = all({*machine.features} >= NEEDED for machine in (one, other))
    alike = (one.libc, one.choices) == (other.libc, other.choices)
    return have and alike and is_same_intel_platform(one, other)


def list_version_differences(one: MachinePlatform, other: MachinePlatform) -> list[str]:
    """Return the packages whose versions differ."""
    packages = sorted(one.versions.keys() | other.versions.keys())
    return [name for name in packages if one.versions.get(name) != other.versions.get(name)]


def is_same_intel_platform(one: MachinePlatform, other: MachinePlatform) -> bool:
    """Return whether systems without networks are to end alike on both, but for last digits.

    Both must be x86-64 with the same packages; Python's sums change with its minor version. Bytes
    may differ where a processor lacks the shared kernels, or the C library is another one.
    """
    pythons = {tuple(machine.python.split(".")[:2]) for machine in (one, other)}
    return (
        one.is_intel
        and other.is_intel
        and len(pythons) == 1
        and not list_version_differences(one, other)
    )
