"""Tables of question 4, how late is too late, from what `crucible critical` writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from studies.published.cells import Row, print_table, rows_of, system_of, value, with_p

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


def print_ages(folder: Path, finer_folder: Path) -> None:
    """Print at which ages outcomes flip, and what finer ages show if there are any."""
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
    if finer_folder.is_dir():
        print("\n## Question 4: finer ages\n")
        print(FINE_HEAD)
        files = (at / "critical_latency.csv" for at in (folder, finer_folder))
        print_table(finer(*map(rows_of, files)))


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
