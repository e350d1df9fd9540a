"""`make bench`: every benchmark of the house, one after another, in one run."""

from __future__ import annotations

import argparse
import importlib
import pkgutil

from rich.console import Console
from rich.table import Table

from tests import benchmarks


def main() -> None:
    names = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name[:6] == "bench_"]
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("names", nargs="*", default=names, help=", ".join(names))
    console = Console()
    for name in parser.parse_args().names:
        module = importlib.import_module(f"tests.benchmarks.{name}")
        table = Table(title=(module.__doc__ or name).splitlines()[0], title_justify="left")
        table.add_column("what")
        table.add_column("value", justify="right")
        with console.status(name):
            rows: list[tuple[str, str]] = module.run()
        for what, value in rows:
            table.add_row(what, value)
        console.print(table)


if __name__ == "__main__":
    main()
