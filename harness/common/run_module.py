"""`python run_module.py MODULE [ARGUMENT ...]`: like `python -m`, with Crucible's packages first.

`python -m` puts the working directory first, where a folder `agents` or `analysis` may be.
"""

from __future__ import annotations

import sys


def run_named_module() -> None:
    """Run the module that the first argument names."""
    sys.path[0] = __file__.rpartition("/harness/")[0]

    import runpy  # noqa: PLC0415 - this file's folder was first on the path until now

    from harness.common.installation import import_crucible_packages  # noqa: PLC0415

    import_crucible_packages()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    run_named_module()
