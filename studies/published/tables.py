"""Tables of the study in Markdown, from the folder that `studies/published/analyse` has written.

python studies/published/tables.py FOLDER > docs/study/tables.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from analysis.statistics.significance import compute_holm_p_values
from studies.published.ages import print_ages
from studies.published.cells import (
    SYSTEMS,
    Row,
    difference,
    in_order,
    number,
    odds,
    print_table,
    rows_of,
    signed,
    system_of,
    value,
    with_p,
)

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
COSTS = ("speed, % of oracle", "time to goal, s")
SURROGATES = (
    "near misses", "largest required deceleration, m/s²", "hard braking",
    "hard braking without reason", "stops", "stops without reason", "RMS jerk, m/s³",
)  # fmt: skip
PATTERNS = ("LCME", "LCLE", "LADE", "CCME", "CCLE", "CADE")
HEAD = """# Tables of the study

Written by `studies/published/analyse` from the packed parts. Pairs are of equal route and seed;
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
    # comparisons that were made
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
    # questions 3 and 4
    if (folder / "3-effects").is_dir():
        print_repairs(folder / "3-effects")
    if (confirmed := folder / "3-confirm.md").is_file():
        print("\n## Question 3: the confirmation\n")
        print(confirmed.read_text(encoding="utf-8").rstrip())
    if (folder / "4-ages").is_dir():
        print_ages(folder / "4-ages", folder / "4-fine")
    # costs, and the regression
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
    # every row by its system, effect and outcome
    known = {(row["of"], row["effect of"], row["outcome"]): row for row in effects}
    untested = [name for name in dict.fromkeys(row["outcome"] for row in effects)
                if name not in TESTED]  # fmt: skip
    # p by Holm of the violations alone, besides that of the family
    violations = [row for row in effects if row["outcome"] == TESTED[0]]
    levels = compute_holm_p_values(np.array([float(row["p"]) for row in violations]))
    pairs = zip(violations, levels, strict=True)
    by_holm = {(row["of"], row["effect of"]): level for row, level in pairs}
    # a head, then a line for each
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


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python studies/published/tables.py FOLDER > docs/study/tables.md")
    main(Path(sys.argv[1]))
