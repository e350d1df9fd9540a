"""Where Crucible's own packages and shipped files are, in a checkout or in an installed wheel.

`conf` and `routes` are at the top of a checkout; a wheel has them in `crucible`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

PACKAGES = Path(__file__).parents[2]
"""The folder that `harness`, `agents`, `analysis`, `studies` and `crucible` are in."""
INSTALLED = PACKAGES / "crucible"
SHIPPED = INSTALLED if (INSTALLED / "conf").is_dir() else PACKAGES
"""The folder that `conf` and `routes` are in."""
CONF = SHIPPED / "conf"
IN_CHECKOUT = (PACKAGES / "pyproject.toml").is_file()
VENV = PACKAGES / ".venv"
EXTRAS = {
    "av": "replay",
    "matplotlib": "draw",
    "open3d": "clouds",
    "ray": "ray",
    "rerun": "replay",
    "safetensors": "learn",
    "submitit": "slurm",
    "torch": "learn",
}
"""Which extra has a module that only parts of a command need."""


def format_missing_package(module: str, extra: str) -> str:
    """Return one line that names a missing package and how to install what has it.

    Args:
        module: that could not be imported.
        extra: that brings it, if the module is not a known one.
    """
    name = module.partition(".")[0]
    return f"{name} is not installed: {install_command(EXTRAS.get(name, extra))}"


def install_command(extra: str) -> str:
    """Return the command that installs an extra, here."""
    brackets = f"[{extra}]" if extra else ""
    if not IN_CHECKOUT:
        return f"pip install 'v2x-crucible{brackets}'"
    if Path(sys.prefix) == VENV:
        return f"pip install -c requirements.lock -e '.{brackets}'"
    return "source .venv/bin/activate" if VENV.is_dir() else "make setup"


def import_crucible_packages() -> None:
    """Import Crucible's packages before any of the same name, such as CARLA's `agents`.

    Python puts PYTHONPATH before site-packages. The standard library goes before both: an old
    backport in site-packages must not replace a part of it.
    """
    standard = Path(os.__file__).parent
    library = [entry for entry in sys.path if Path(entry) in (standard, standard / "lib-dynload")]
    others = [entry for entry in sys.path if entry not in (*library, str(PACKAGES))]
    sys.path[:] = [*library, str(PACKAGES), *others]
