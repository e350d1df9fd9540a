"""Kernels that attempts and carlite compute with: those that all processors of ten years share.

numpy and its BLAS choose the widest kernels that a processor has, which round sines and sums of
products differently. With the choice made for them, records do not depend on it. Networks are
left alone: torch has kernels of its own, and is several times as slow with others.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import sys
from functools import cache
from pathlib import Path

import numpy as np

from harness.common.errors import UserError

PROCESSORS = Path("/proc/cpuinfo")
NEEDED = {"avx2", "fma", "bmi2"}
"""Features of x86-64 processors since 2013 (Intel) and 2015 (AMD): BLAS's `Haswell` kernels."""
WIDER = re.compile(r"AVX512\w*|X86_V4")
"""What numpy calls kernels for later ones."""
REPEATABLE = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_CBWR": "COMPATIBLE",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "CUDA_VISIBLE_DEVICES": "",
}
"""Variables of processes whose networks give equal bytes on all processors with `NEEDED`.

torch's own kernels for AVX2; MKL's only kernels that its makers promise to be equal on processors
of all makers; of oneDNN, for who calls it all the same, no wider ones; no GPU.
"""
MKL_ALL_BITS, MKL_COMPATIBLE = -1, 3
"""`MKL_CBWR_ALL` and `MKL_CBWR_COMPATIBLE` of `mkl_types.h`."""


def make_shared_kernel_environment() -> dict[str, str]:
    """Return environment variables for processes in which kernels are to be the shared ones.

    None on a processor that lacks them, and where that is not known.
    """
    if not read_processor_features() >= NEEDED:
        return {}
    disabled = os.environ.get("NPY_DISABLE_CPU_FEATURES", "").replace(",", " ").split()
    names = dict.fromkeys([*disabled, *filter(WIDER.fullmatch, list_numpy_kernels())])
    return {
        "OPENBLAS_CORETYPE": "Haswell",
        **({"NPY_DISABLE_CPU_FEATURES": " ".join(names)} if names else {}),
    }


@cache
def list_numpy_kernels() -> tuple[str, ...]:
    """Return the kernels that numpy has for this processor, as it calls them."""
    known = np.show_config(mode="dicts") or {}
    return tuple(known.get("SIMD Extensions", {}).get("found", ()))


@cache
def read_processor_features() -> frozenset[str]:
    """Return the features of the first processor, by their names in Linux; nothing elsewhere."""
    return frozenset(read_processor_facts().get("flags", "").split())


def get_processor_name() -> str:
    """Return what the processor is called, or else its architecture."""
    return read_processor_facts().get("model name", platform.processor() or platform.machine())


def read_processor_facts() -> dict[str, str]:
    """Return what Linux says of the first processor, nothing elsewhere."""
    try:
        text = PROCESSORS.read_text()
    except OSError:
        return {}
    lines = [line.partition(":") for line in text.partition("\n\n")[0].splitlines()]
    return {name.strip(): value.strip() for name, _, value in lines}


def make_repeatable_environment() -> dict[str, str]:
    """Return environment variables for processes whose networks are to be repeatable.

    Raises:
        UserError: this processor lacks what all need.
    """
    if missing := NEEDED - read_processor_features():
        raise UserError(
            f"configuration: repeatable=true needs a processor with {', '.join(sorted(NEEDED))};"
            f" {get_processor_name()} has no {', '.join(sorted(missing))}"
        )
    return dict(REPEATABLE)


def hold_torch_kernels() -> None:
    """Let torch, where it is loaded, compute with kernels that all processors share.

    Convolutions are then products of matrices: oneDNN and NNPACK, which choose how they compute by
    the processor and by the sizes of its caches, are not used. Call it in a process that began with
    `make_repeatable_environment`: torch reads the variables when it is loaded.

    Raises:
        UserError: torch computes with other kernels all the same.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return
    kernels = torch.backends.cpu.get_cpu_capability()
    if kernels.lower() != REPEATABLE["ATEN_CPU_CAPABILITY"]:
        raise UserError(f"repeatable=true: torch computes with kernels for {kernels}, not for AVX2")
    if not is_mkl_compatible(Path(torch.__path__[0])):
        raise UserError("repeatable=true: this torch has no MKL, or MKL_CBWR is not COMPATIBLE")
    torch.backends.mkldnn.set_flags(False)
    torch.backends.nnpack.set_flags(False)


def is_mkl_compatible(torch_folder: Path) -> bool:
    """Return whether torch's products of matrices are MKL's that repeat on all processors.

    Args:
        torch_folder: of the package `torch`, which holds MKL in its library.
    """
    try:
        library = ctypes.CDLL(str(torch_folder / "lib" / "libtorch_cpu.so"))
        return int(library.mkl_serv_cbwr_get(MKL_ALL_BITS)) == MKL_COMPATIBLE
    except (OSError, AttributeError):
        return False
