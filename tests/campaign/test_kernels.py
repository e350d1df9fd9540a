"""Attempts and carlite compute with kernels that all processors of ten years share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.common import kernels
from harness.common.kernels import (
    list_numpy_kernels,
    make_shared_kernel_environment,
    read_processor_features,
)

HAVE = pytest.mark.skipif(
    not read_processor_features() >= kernels.NEEDED, reason="no AVX2, or not known"
)
KERNELS = "import numpy; print(*numpy.show_config(mode='dicts')['SIMD Extensions']['found'])"


@pytest.fixture
def processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A description of a processor, to be written."""
    monkeypatch.setattr(kernels, "PROCESSORS", tmp_path / "cpuinfo")
    monkeypatch.setattr(kernels, "read_processor_features", read_processor_features.__wrapped__)
    return tmp_path / "cpuinfo"


@HAVE
def test_what_is_wider_is_left_out_whatever_the_environment_asks_for() -> None:
    asked = {"OPENBLAS_CORETYPE": "SkylakeX", "NPY_DISABLE_CPU_FEATURES": ""}
    environment = {**os.environ, **asked, **make_shared_kernel_environment()}
    command = [sys.executable, "-W", "error", "-c", KERNELS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    left = done.stdout.split()
    assert not [name for name in left if kernels.WIDER.fullmatch(name)]
    assert {*left} == {name for name in list_numpy_kernels() if not kernels.WIDER.fullmatch(name)}
    assert environment["OPENBLAS_CORETYPE"] == "Haswell"


@HAVE
def test_what_the_environment_leaves_out_stays_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", "AVX2, X86_V3")
    assert {"AVX2", "X86_V3"} <= {
        *make_shared_kernel_environment()["NPY_DISABLE_CPU_FEATURES"].split()
    }


@pytest.mark.parametrize("text", ["flags\t\t: fpu avx2 fma\n", "flags: avx2 bmi2\n", ""])
def test_a_processor_without_them_gets_none(processor: Path, text: str) -> None:
    processor.write_text(text)
    assert make_shared_kernel_environment() == {}


def test_an_unknown_processor_gets_none(processor: Path) -> None:
    assert not processor.exists()
    assert make_shared_kernel_environment() == {}


def test_a_known_one_gets_them(processor: Path) -> None:
    processor.write_text("processor\t: 0\nflags\t\t: fpu fma avx2 bmi1 bmi2 avx512f\n\nflags: x\n")
    assert make_shared_kernel_environment()["OPENBLAS_CORETYPE"] == "Haswell"
