"""Kernels that attempts and carlite compute with: those that all processors of ten years share.

numpy and its BLAS choose the widest kernels that a processor has, which round sines and sums of
products differently. With the choice made for them, records do not depend on it. Networks are
left alone: torch has kernels of its own, and is several times as slow with others.
"""

from __future__ import annotations

import os
import platform
import re
from functools import cache
from pathlib import Path

import numpy as np

PROCESSORS = Path("/proc/cpuinfo")
NEEDED = {"avx2", "fma", "bmi2"}
"""Features of x86-64 processors since 2013 (Intel) and 2015 (AMD): BLAS's `Haswell` kernels."""
WIDER = re.compile(r"AVX512\w*|X86_V4")
"""What numpy calls kernels for later ones."""


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
