"""Tables of the study in Markdown, from the folder that `docs/study/analyse` has written.

python docs/study/tables.py FOLDER > docs/study/tables.md
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

Row: TypeAlias = dict[str, str]

COMPARISONS = {
    "1-sharing": "Question 1: each network against `single`, both undisturbed",
    "2-latency": "Question 2: under latency against undisturbed",
    "2-poses": "Question 2: under pose errors against undisturbed",
    "2-gain-left": "Question 2: under latency against `single` undisturbed",
    "5-harm": "Question 5: on routes on which `single` has no violation",
    "5-harm-ideal": "Question 5: on routes on which `ideal_single` has no violation",
}
SUBGROUPS = {"reveal": "by reveal time", "kind": "by kind of hazard", "town": "by town"}
PERCENT = ("violations, %", "collisions, %", "route completion, %")
TESTED = ("violations, %", "collisions, %", "driving score")
SYSTEMS = (
    "oracle", "ideal_single", "single", "ideal_late", "late", "early", "fcooper", "attfuse",
    "disconet", "v2vnet", "v2xvit", "codriving",
)  # fmt: skip
PATTERNS = ("LCME", "LCLE", "LADE", "CCME", "CCLE", "CADE")
SURELY = 0.05
HEAD = """# Tables of the study

Written by `docs/study/analyse` from the packed parts. Pairs are attempts of equal route and seed;
intervals are 95 % and resample routes; p is of sign flips of routes' differences, after Holm within
the family of the table. Shares and their differences are in percent; **bold** differences have
p < 0.05 after Holm."""
COST_HEAD = (
    "Against `oracle` on the same route and seed; times are of attempts that reached the goal.\n"
)
REGRESSION_HEAD = """Odds ratios of a standard deviation of each rate (`paper`: of one error more),
with 95 % intervals; an asterisk is p < 0.05 after Holm. None of them says what causes what.
"""


def main(folder: Path) -> None:
    """Print all tables."""
    print(HEAD)
    print("\n## All arms\n")
    print_table(arms(rows_of(folder / "6-tables" / "driving.csv")))
    for name, title in COMPARISONS.items():
        if (folder / name).is_dir():
            print(f"\n## {title}\n")
            print_table(compared(rows_of(folder / name / "compare.csv")))
            for part, words in SUBGROUPS.items():
                groups = rows_of(folder / name / "compare_by.csv")
                if chosen := [row for row in groups if row["by"] == part]:
                    print(f"\nViolations {words}: difference, interval and pairs.\n")
                    print_table(by_group(chosen))
    print("\n## Question 6: what it costs in time\n")
    print(COST_HEAD)
    print_table(costs(rows_of(folder / "6-tables" / "time_cost.csv")))
    print("\n## The regression of the same drives\n")
    print(REGRESSION_HEAD)
    print_table(regressions(rows_of(folder / "regression" / "regression.csv")))


def rows_of(file: Path) -> list[Row]:
    """Return a CSV file's rows, none where it is missing."""
    if not file.is_file():
        return []
    with file.open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


def print_table(lines: Iterable[Sequence[str]]) -> None:
    """Print a table whose first line has the names of its columns."""
    for number, line in enumerate(lines):
        print("| " + " | ".join(line) + " |")
        if number == 0:
            print("| " + " | ".join(["---"] * len(line)) + " |")


def arms(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each system and condition."""
    measures = {"violations %": "violations, %", "CR %": "collisions, %", "DS": "driving score",
                "RCR %": "route completion, %"}  # fmt: skip
    yield ["system", "condition", "attempts", *measures.values()]
    known = {(row["system"], row["condition"], row["measure"]): row for row in rows}
    for system, condition in in_order({(row["system"], row["condition"]) for row in rows}):
        ours = [known.get((system, condition, measure)) for measure in measures]
        count = next(row["n"] for row in ours if row)
        yield [f"`{system}`", condition, count, *(value(row) if row else "" for row in ours)]


def compared(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each pair of arms."""
    yield ["arms", "pairs", *(f"{measure}: difference; p" for measure in TESTED), PERCENT[2]]
    pairs = dict.fromkeys((row["arm_a"], row["arm_b"]) for row in rows)
    known = {(row["arm_a"], row["arm_b"], row["measure"]): row for row in rows}
    for a, b in pairs:
        first = known[a, b, TESTED[0]]
        shares = f"`{b}` {float(first['b']):.1f} against {float(first['a']):.1f}"
        tested = [known.get((a, b, measure)) for measure in TESTED]
        cells = [with_p(row) if row else "" for row in tested]
        completion = known.get((a, b, PERCENT[2]))
        yield [shares, first["pairs"], *cells, difference(completion) if completion else ""]


def by_group(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each pair of arms, a column for each group; violations only."""
    rows = [row for row in rows if row["measure"] == TESTED[0]]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    yield ["arms", *groups]
    known = {(row["arm_a"], row["arm_b"], row["group"]): row for row in rows}
    for a, b in dict.fromkeys((row["arm_a"], row["arm_b"]) for row in rows):
        cells = (known.get((a, b, group)) for group in groups)
        yield [f"`{b}`", *(f"{difference(row)}; {row['pairs']}" if row else "" for row in cells)]


def costs(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each arm: speed and time against `oracle`."""
    measures = [name for name in dict.fromkeys(row["measure"] for row in rows)
                if name not in ("DS", "CR %")]  # fmt: skip
    yield ["system", "condition", *measures]
    known = {(row["system"], row["condition"], row["measure"]): row for row in rows}
    for system, condition in in_order({(row["system"], row["condition"]) for row in rows}):
        ours = (known.get((system, condition, measure)) for measure in measures)
        yield [f"`{system}`", condition, *(value(row, 2) if row else "" for row in ours)]


def regressions(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each condition and method, a column for each pattern."""
    yield ["condition", "method", *PATTERNS]
    known = {(row["condition"], row["method"], row["term"]): row for row in rows}
    for condition, method in dict.fromkeys((row["condition"], row["method"]) for row in rows):
        terms = (known.get((condition, method, pattern)) for pattern in PATTERNS)
        yield [condition, method.partition(":")[0], *(odds(row) if row else "" for row in terms)]


def in_order(arms_known: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return systems and conditions, systems as the study has them, undisturbed first."""
    return sorted(arms_known, key=lambda arm: (SYSTEMS.index(arm[0]), arm[1] != "none", arm[1]))


def value(row: Row, digits: int = 1) -> str:
    """Return a value with its interval."""
    text = number(row["value"], digits)
    if not row["low"]:
        return text
    return f"{text} ({number(row['low'], digits)} to {number(row['high'], digits)})"


def difference(row: Row) -> str:
    """Return a difference with its interval."""
    if not row["low"]:
        return f"{signed(row['difference'])} (equal on all routes)"
    low, high = signed(row["low"]), signed(row["high"])
    return f"{signed(row['difference'])} ({low} to {high})"


def with_p(row: Row) -> str:
    """Return a difference with its interval and p after Holm; bold where p is small."""
    if not row["p holm"]:
        return difference(row)
    p = float(row["p holm"])
    text = f"**{difference(row)}**" if p < SURELY else difference(row)
    return f"{text}; {'< 0.001' if p < 0.001 else f'{p:.3f}'}"


def odds(row: Row) -> str:
    """Return an odds ratio with its interval; an asterisk where p is small after Holm."""
    if not row["odds_ratio"]:
        return ""
    star = "*" if row["p_holm"] and float(row["p_holm"]) < SURELY else ""
    bounds = " to ".join(f"{float(row[name]):.2f}" for name in ("low", "high") if row[name])
    return f"{float(row['odds_ratio']):.2f}{star} ({bounds})"


def number(text: str, digits: int) -> str:
    """Return a number with so many digits behind the point."""
    return f"{float(text):.{digits}f}"


def signed(text: str) -> str:
    """Return a difference with its sign."""
    return f"{float(text):+.1f}".replace("-", "\N{MINUS SIGN}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/study/tables.py FOLDER > docs/study/tables.md")
    main(Path(sys.argv[1]))
