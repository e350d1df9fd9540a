"""Tables of the study in Markdown, from the folder that `docs/study/analyse` has written.

python docs/study/tables.py FOLDER > docs/study/tables.md
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from analysis.statistics.significance import holm

Row: TypeAlias = dict[str, str]

COMPARISONS = {
    "1-sharing": "Question 1: each network against `single`, both undisturbed",
    "2-latency": "Question 2: under latency against undisturbed",
    "2-poses": "Question 2: under pose errors against undisturbed",
    "2-gain-left": "Question 2: under latency against `single` undisturbed",
    "5-harm": "Question 5: on routes on which `single` has no violation",
    "5-harm-ideal": "Question 5: on routes on which `ideal_single` has no violation",
    "5-harm-latency": "Not declared: under latency, on routes on which `single` has no violation",
}
CHOSEN_BY_AN_ARM = ("5-harm", "5-harm-latency")
CHOSEN_HEAD = """Routes are chosen by `single` being clean: differences can only be one way,
part of them is chance, and p does not hold.
"""
SUBGROUPS = {"reveal": "by reveal time", "kind": "by kind of hazard", "town": "by town"}
PERCENT = ("violations, %", "collisions, %", "route completion, %")
TESTED = ("violations, %", "collisions, %", "driving score")
SYSTEMS = (
    "oracle", "ideal_single", "single", "ideal_late", "late", "early", "fcooper", "attfuse",
    "disconet", "v2vnet", "v2xvit", "codriving",
)  # fmt: skip
COSTS = ("speed, % of oracle", "time to goal, s")
SURROGATES = (
    "near misses", "largest required deceleration, m/s²", "hard braking",
    "hard braking without reason", "stops", "stops without reason", "RMS jerk, m/s³",
)  # fmt: skip
PATTERNS = ("LCME", "LCLE", "LADE", "CCME", "CCLE", "CADE")
SURELY = 0.05
HEAD = """# Tables of the study

Written by `docs/study/analyse` from the packed parts. Pairs are attempts of equal route and seed;
intervals are 95 % and resample routes; p is of sign flips of routes' differences, after Holm within
the family of the table; of repairs and ages it is within one family too, by sequential rejection
(deviation 7). Shares and their differences are in percent; **bold** differences have p < 0.05.
Violations stand next to what they cost in time: speed is in percent of `oracle`'s over the stretch
that both drove, times to the goal are of pairs that both reach it. None of these is tested."""
COST_HEAD = "Against `oracle` on the same route and seed; times are of attempts at the goal.\n"
REGRESSION_HEAD = """Odds ratios of a standard deviation of each rate (`paper`: of one error more),
with 95 % intervals; an asterisk is p < 0.05 after Holm. None of them says what causes what.
"""
REPAIR_HEAD = """Against nothing repaired, under latency: total effects on the same routes and seed.
Repairs and patterns are by what the reference rig sees (`seen`). p is within one family of all
tests here, by sequential rejection; *Holm* is Holm's within the outcome. *Changes a step* counts
boxes; *nothing changed in* counts attempts in which there was nothing to repair.
"""
AGE_HEAD = """Percent of drives without a violation up to an age of all messages, one seed;
intervals are 95 % and resample routes. Where an outcome flips is known to a planning step, 0.2 s.
"""
FREE, AS_DRIVEN = "free of violations, %", "no violation at this size, %"
BOUND, AGAIN = "largest age to stop, s", "free again"
AGE_COSTS = ("mean speed, m/s", "time to goal, s", "delay against size 0, s")
FINE_HEAD = """`late` perceives at every step of the simulator (`perceive_every=1`), on the first
three routes on which its outcome flips (deviation 5). Intervals are from the last age without a
violation to the first with one.
"""
AGREEMENT_HEAD = """Patterns are by what the reference rig sees (`seen`). The regression is of the
drives in which nothing is repaired: of a standard deviation of each rate, timing-fair where that
can be fitted. An odds ratio above 1 goes with a repair that prevents violations, if the
association is a cause.
"""


def main(folder: Path) -> None:
    """Print all tables."""
    print(HEAD)
    print("\n## All arms\n")
    print_table(arms(rows_of(folder / "6-tables" / "driving.csv")))
    for name, title in COMPARISONS.items():
        if (folder / name).is_dir():
            print(f"\n## {title}\n")
            if name in CHOSEN_BY_AN_ARM:
                print(CHOSEN_HEAD)
            print_table(compared(rows_of(folder / name / "compare.csv")))
            for part, words in SUBGROUPS.items():
                groups = rows_of(folder / name / "compare_by.csv")
                if chosen := [row for row in groups if row["by"] == part]:
                    print(f"\nViolations {words}: difference, interval and pairs.\n")
                    print_table(by_group(chosen))
    if (folder / "3-effects").is_dir():
        print_repairs(folder / "3-effects")
    if (confirmed := folder / "3-confirm.md").is_file():
        print("\n## Question 3: the confirmation\n")
        print(confirmed.read_text(encoding="utf-8").rstrip())
    if (folder / "4-ages").is_dir():
        print_ages(folder / "4-ages")
    if (folder / "4-fine").is_dir():
        print("\n## Question 4: finer ages\n")
        print(FINE_HEAD)
        files = (folder / part / "critical_latency.csv" for part in ("4-ages", "4-fine"))
        print_table(finer(*map(rows_of, files)))
    print("\n## Question 6: what it costs in time\n")
    print(COST_HEAD)
    print_table(costs(rows_of(folder / "6-tables" / "time_cost.csv")))
    print("\nHow close it was, and what was done without a reason.\n")
    print_table(surrogates(rows_of(folder / "6-tables" / "surrogates.csv")))
    print("\n## The regression of the same drives\n")
    print(REGRESSION_HEAD)
    print_table(regressions(rows_of(folder / "regression" / "regression.csv")))


def print_repairs(folder: Path) -> None:
    """Print what repairs do, and what the regression of the same drives says."""
    print("\n## Question 3: repairs under latency\n")
    print(REPAIR_HEAD)
    print_table(repairs(rows_of(folder / "effects.csv")))
    print("\nWhat a pattern's repair adds to that of the other five, not tested.\n")
    print_table(last(rows_of(folder / "effects_last.csv")))
    print("\n## Question 3: what the regression says, and what interventions say\n")
    print(AGREEMENT_HEAD)
    print_table(agreements(rows_of(folder / "effects_regression.csv")))
    print("\nDirections and ranks, significant or not.\n")
    print_table(directions(rows_of(folder / "effects_agreement.csv")))
    if shares := rows_of(folder / "effects_shapley.csv"):
        print("\n## Question 3: Shapley shares, from five orders\n")
        print_table(shapley(shares))


def print_ages(folder: Path) -> None:
    """Print at which ages outcomes flip."""
    print("\n## Question 4: how late is too late\n")
    print(AGE_HEAD)
    print_table(free_by_age(rows_of(folder / "critical_latency_free.csv"), FREE))
    print("\nPercent of drives of one age without a violation, whatever happens at other ages.\n")
    print_table(free_by_age(rows_of(folder / "critical_latency_free.csv"), AS_DRIVEN))
    print("\nWhat it costs in time, of all drives at each age.\n")
    print_table(times_by_age(rows_of(folder / "critical_latency_free.csv")))
    for part, words in (("reveal", "reveal time"), ("kind", "kind of hazard")):
        print(f"\nBy {words}: routes, and what happens on them.\n")
        print_table(strata(rows_of(folder / f"critical_latency_{part}.csv"), part))
    print("\nCritical ages of single attempts: first violations, and what comes behind them.\n")
    print_table(censored(rows_of(folder / "critical_latency.csv")))
    print("\nDifferences of mean critical ages up to the largest, in s.\n")
    print_table(age_differences(rows_of(folder / "critical_latency_differences.csv")))


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
    others = (PERCENT[2], *COSTS)
    yield ["arms", "pairs", *(f"{measure}: difference; p" for measure in TESTED), *others]
    pairs = dict.fromkeys((row["arm_a"], row["arm_b"]) for row in rows)
    known = {(row["arm_a"], row["arm_b"], row["measure"]): row for row in rows}
    for a, b in pairs:
        first = known[a, b, TESTED[0]]
        shares = f"`{b}` {float(first['b']):.1f} against {float(first['a']):.1f}"
        tested = [known.get((a, b, measure)) for measure in TESTED]
        cells = [with_p(row) if row else "" for row in tested]
        described = [known.get((a, b, measure)) for measure in others]
        cells += [difference(row) if row else "" for row in described]
        yield [shares, first["pairs"], *cells]


def by_group(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each pair of arms, a column for each group; violations only."""
    rows = [row for row in rows if row["measure"] == TESTED[0]]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    yield ["arms", *groups]
    known = {(row["arm_a"], row["arm_b"], row["group"]): row for row in rows}
    for a, b in dict.fromkeys((row["arm_a"], row["arm_b"]) for row in rows):
        cells = (known.get((a, b, group)) for group in groups)
        yield [f"`{b}`", *(f"{difference(row)}; {row['pairs']}" if row else "" for row in cells)]


def repairs(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each system and repair."""
    effects = sorted((row for row in rows if row["compared with"] == "none"), key=by_patterns)
    known = {(row["of"], row["effect of"], row["outcome"]): row for row in effects}
    untested = [name for name in dict.fromkeys(row["outcome"] for row in effects)
                if name not in TESTED]  # fmt: skip
    violations = [row for row in effects if row["outcome"] == TESTED[0]]
    levels = holm(np.array([float(row["p"]) for row in violations]))
    pairs = zip(violations, levels, strict=True)
    by_holm = {(row["of"], row["effect of"]): level for row, level in pairs}
    yield ["system", "effect of", "pairs", *(f"{name}: difference; p" for name in TESTED),
           "violations, Holm", *untested, "changes a step", "nothing changed in"]  # fmt: skip
    for of, effect in dict.fromkeys((row["of"], row["effect of"]) for row in effects):
        first = known[of, effect, TESTED[0]]
        tested = [known.get((of, effect, outcome)) for outcome in TESTED]
        others = [known.get((of, effect, outcome)) for outcome in untested]
        yield [f"`{system_of(of)}`", effect, first["pairs"],
               *(with_p(row, "p family") if row else "" for row in tested),
               f"{by_holm[of, effect]:.3f}",
               *(difference(row) if row else "" for row in others),
               number(first["changes a step"], 2), first["unchanged attempts"]]  # fmt: skip


def by_patterns(row: Row) -> tuple[int, int, int]:
    """Return where a repair stands: single patterns, all but one of them, all."""
    system, words = system_of(row["of"]), row["effect of"].split()
    pattern = PATTERNS.index(words[-1]) if words[-1] in PATTERNS else len(PATTERNS)
    return SYSTEMS.index(system), "but" in words or len(words) == 3, pattern


def agreements(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each system and pattern: the regression and the repair."""
    yield ["system", "pattern", "odds ratio by the regression", "violations when repaired, %; p",
           "significant"]  # fmt: skip
    for row in rows:
        ratio = odds(row, value="odds ratio", bounds=("odds low", "odds high"), p="p Holm")
        yield [f"`{system_of(row['of'])}`", row["pattern"], ratio, with_p(row, "p family"),
               row["agreement"]]  # fmt: skip


def last(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each system and pattern that is repaired after the others."""
    yield ["system", "pattern", *TESTED]
    known = {(row["of"], row["pattern"], row["outcome"]): row for row in rows}
    for of, pattern in dict.fromkeys((row["of"], row["pattern"]) for row in rows):
        cells = (known.get((of, pattern, outcome)) for outcome in TESTED)
        yield [f"`{system_of(of)}`", pattern, *(difference(row) if row else "" for row in cells)]


def directions(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each system: in how many patterns regression and repair agree."""
    measures = ("same direction", "opposite", "no direction", "rank correlation")
    yield ["system", *measures]
    for row in rows:
        cells = [row[name] for name in measures[:3]]
        yield [f"`{system_of(row['of'])}`", *cells, number(row[measures[3]], 2)]


def shapley(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each outcome and pattern."""
    yield ["system", "outcome", "pattern", "share of the effect of repairing all", "all six"]
    for row in rows:
        share = value({"value": row["share"], "low": row["low"], "high": row["high"]})
        yield [f"`{system_of(row['of'])}`", row["outcome"], row["pattern"], share,
               signed(row["total"])]  # fmt: skip


def free_by_age(rows: list[Row], measure: str) -> Iterator[list[str]]:
    """Yield a line for each age, a column for each arm: a share of its attempts."""
    rows = [row for row in rows if row["measure"] == measure and row["value"]]
    arms_there = list(dict.fromkeys(row["arm of"] for row in rows))
    yield ["age, s", *(f"`{system_of(arm)}`" for arm in arms_there)]
    known = {(row["arm of"], row["size"]): row for row in rows}
    for size in sorted({row["size"] for row in rows}, key=float):
        cells = (known.get((arm, size)) for arm in arms_there)
        yield [size, *(value(row) if row else "" for row in cells)]


def times_by_age(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each arm and age that all attempts drove: speed and time to the goal."""
    rows = [row for row in rows if row["measure"] in AGE_COSTS and row["value"]]
    yield ["system", "age, s", *AGE_COSTS]
    known = {(row["arm of"], row["size"], row["measure"]): row for row in rows}
    for arm, size in dict.fromkeys((row["arm of"], row["size"]) for row in rows):
        cells = (known.get((arm, size, measure)) for measure in AGE_COSTS)
        yield [f"`{system_of(arm)}`", size, *(value(row, 2) if row else "" for row in cells)]


def strata(rows: list[Row], part: str) -> Iterator[list[str]]:
    """Yield a line for each arm and stratum, a column for each measure."""
    measures = list(dict.fromkeys(row["measure"] for row in rows))
    yield ["system", part, "routes", *measures]
    known = {(row["arm of"], row[part], row["measure"]): row for row in rows}
    for arm, stratum in dict.fromkeys((row["arm of"], row[part]) for row in rows):
        cells = [known.get((arm, stratum, measure)) for measure in measures]
        routes = next((row["routes"] for row in cells if row), "")
        texts = (value(row, digits_of(row)) if row else "" for row in cells)
        yield [f"`{system_of(arm)}`", stratum, routes, *texts]


def digits_of(row: Row) -> int:
    """Return the digits of a measure in a stratum: none of counts, which have no interval."""
    return 2 if row["measure"].startswith("mean") else int(row["method"] != "none")


def finer(coarse: list[Row], fine: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each attempt driven at finer ages: both intervals of its critical age."""
    yield ["system", "town and route", "age on the coarse grid, s", "on the fine one, s",
           "the fine within the coarse"]  # fmt: skip
    known = {attempt_of(row): row for row in coarse}
    for row in fine:
        name = attempt_of(row)
        first = known[name]
        (low, high), (least, most) = (
            (float(one["low"]), float(one["high"])) for one in (row, first)
        )
        within = "yes" if least <= low and high <= most else "no"
        yield [f"`{name[0]}`", f"{name[1]}, {name[2]}", f"{least:g} to {most:g}",
               f"{low:g} to {high:g}", within]  # fmt: skip


def attempt_of(row: Row) -> tuple[str, str, str, str]:
    """Return what two searches have in common of an attempt: system, town, route and seed."""
    return row["system"], row["cluster"].partition("/")[0], row["route"], row["seed"]


def censored(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each arm: how many attempts fail at once, flip, or never fail."""
    yield ["system", "attempts", "a violation without latency", "at an age",
           "of these confirmed", "free again at a larger age", "at an age that leaves time to stop",
           "flips back", "none up to the largest age"]  # fmt: skip
    for arm in dict.fromkeys(row["arm"] for row in rows):
        ours = [row for row in rows if row["arm"] == arm]
        flipped = [row for row in ours if not row["censored"]]
        counts = (
            len(ours),
            sum(row["censored"] == "left" for row in ours),
            len(flipped),
            sum(row["confirmed"] == "yes" for row in flipped),
            sum(bool(row[AGAIN]) for row in flipped),
            sum(float(row["high"]) <= float(row[BOUND] or "nan") for row in flipped),
            sum(int(row["flips back"]) > 0 for row in ours),
            sum(row["censored"] == "right" for row in ours),
        )
        yield [f"`{system_of(arm)}`", *map(str, counts)]


def age_differences(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each pair of arms."""
    yield ["arms", "difference; p", "larger in the second", "in the first", "pairs"]
    for row in rows:
        arms_there = f"`{system_of(row['b'])}` less `{system_of(row['a'])}`"
        yield [arms_there, with_p(row, "p family", 2), row["larger in b"], row["larger in a"],
               row["pairs"]]  # fmt: skip


def system_of(arm: str) -> str:
    """Return an arm's system."""
    return arm.partition("/")[0]


def costs(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each arm: speed and time against `oracle`."""
    measures = [name for name in dict.fromkeys(row["measure"] for row in rows)
                if name not in ("DS", "CR %")]  # fmt: skip
    yield ["system", "condition", *measures]
    known = {(row["system"], row["condition"], row["measure"]): row for row in rows}
    for system, condition in in_order({(row["system"], row["condition"]) for row in rows}):
        ours = (known.get((system, condition, measure)) for measure in measures)
        yield [f"`{system}`", condition, *(value(row, 2) if row else "" for row in ours)]


def surrogates(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a line for each arm: surrogates of danger, and braking and stops without a reason."""
    yield ["system", "condition", *SURROGATES]
    known = {(row["system"], row["condition"], row["measure"]): row for row in rows}
    for system, condition in in_order({(row["system"], row["condition"]) for row in rows}):
        ours = (known.get((system, condition, measure)) for measure in SURROGATES)
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
    """Return a value with its interval, nothing where it is missing."""
    if not row["value"]:
        return ""
    text = number(row["value"], digits)
    if not row["low"]:
        return text
    return f"{text} ({number(row['low'], digits)} to {number(row['high'], digits)})"


def difference(row: Row, digits: int = 1) -> str:
    """Return a difference with its interval."""
    middle, low, high = (row[name] for name in ("difference", "low", "high"))
    if not low:
        return f"{signed(middle, digits)} (equal on all routes)"
    return f"{signed(middle, digits)} ({signed(low, digits)} to {signed(high, digits)})"


def with_p(row: Row, column: str = "p holm", digits: int = 1) -> str:
    """Return a difference with its interval and p within its family; bold where p is small."""
    text = difference(row, digits)
    if not row[column]:
        return text
    p = float(row[column])
    text = f"**{text}**" if p < SURELY else text
    return f"{text}; {'< 0.001' if p < 0.001 else f'{p:.3f}'}"


def odds(
    row: Row,
    *,
    value: str = "odds_ratio",
    bounds: tuple[str, str] = ("low", "high"),
    p: str = "p_holm",
) -> str:
    """Return an odds ratio with its interval; an asterisk where p is small after Holm."""
    if not row[value]:
        return ""
    star = "*" if row[p] and float(row[p]) < SURELY else ""
    interval = " to ".join(f"{float(row[name]):.2f}" for name in bounds if row[name])
    return f"{float(row[value]):.2f}{star} ({interval})"


def number(text: str, digits: int) -> str:
    """Return a number with so many digits behind the point."""
    return f"{float(text):.{digits}f}"


def signed(text: str, digits: int = 1) -> str:
    """Return a difference with its sign."""
    return f"{float(text):+.{digits}f}".replace("-", "\N{MINUS SIGN}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/study/tables.py FOLDER > docs/study/tables.md")
    main(Path(sys.argv[1]))
