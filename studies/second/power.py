"""Power of the second study by simulation, with the design that drives it: prints a table.

    python -m studies.second.power

Each file of the study is followed as `crucible decide` would, on differences with assumed rates
for each stratum. Where they come from is in docs/study/second-protocol.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from analysis.statistics.allocation import PRIOR_SQUARE
from analysis.statistics.sequential_family import Decision
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats, Integers
from studies.decide.declaration import StudyDeclaration, read_declaration
from studies.decide.forecast import ForecastPairs, SampleDifferences, forecast_pairs
from studies.decide.monitor import ComparisonMonitor, RoutePopulation

FOLDER = Path(__file__).parent
ORDER = ("a-link", "c-on-time", "f-harm", "b-pose", "d-partners", "e-sensors", "g-seeds")
"""Files in the order in which they are driven; the last ones are left out first."""
SIMULATED = 200
SIZES: Mapping[str, float] = {"as assumed": 1.0, "half of it": 0.5, "none": 0.0}
"""Factors of the assumed mean differences."""
Rates = Sequence[tuple[float, float]]
"""For each stratum: shares of pairs with a violation in b only, and in a only."""
SHARING: Rates = ((0.05, 0.30), (0.05, 0.10))
ON_TIME: Rates = ((0.04, 0.22), (0.04, 0.10))
HARM: Rates = ((0.08, 0.01), (0.12, 0.01))
WORSE: Rates = ((0.20, 0.04), (0.14, 0.04))
ASSUMED: Mapping[str, Rates] = {
    "a-link": SHARING,
    "c-on-time": ON_TIME,
    "f-harm": HARM,
    "b-pose": WORSE,
    "d-partners": WORSE,
    "e-sensors": WORSE,
    "g-seeds": SHARING,
}
HEADER = ("file", "arms", "most drives", "mean difference", "found", "equivalent", "drives, median")


def scale_rates(rates: Rates, size: float) -> list[tuple[float, float]]:
    """Return rates with the mean difference times a factor, and as many differences as before."""
    return [
        ((total + size * (more - fewer)) / 2, (total - size * (more - fewer)) / 2)
        for more, fewer in rates
        for total in [more + fewer]
    ]


def make_stratum_sampler(rates: Rates) -> SampleDifferences:
    """Return what samples differences of 1 and -1, with the rates of each stratum."""
    limits = np.array(rates)  # (strata, 2)

    def sample(chosen: Integers, random: np.random.Generator) -> Floats:
        uniform = random.random(chosen.shape)
        more, fewer = limits[chosen, 0], limits[chosen, 1]
        return np.asarray((uniform < more).astype(np.float64) - (uniform > 1 - fewer))

    return sample


def count_arms(declaration: StudyDeclaration) -> int:
    """Return how many arms a pair of the study has, before any comparison is decided."""
    return len({arm for one in declaration.comparisons for arm in (one.a, one.b)})


def simulate_file(name: str, rates: Rates, samples: int) -> ForecastPairs:
    """Return how studies end in which all comparisons of a file have these rates.

    Args:
        name: of the file.
        rates: of each stratum; strata have equal shares.
        samples: simulated studies.
    """
    declaration = read_declaration(FOLDER / f"{name}.yaml")
    strata = np.arange(len(rates))
    monitors = [
        ComparisonMonitor.start(one.make_rule(declaration.floor), samples, len(strata))
        for one in declaration.comparisons
    ]
    return forecast_pairs(
        RoutePopulation(strata, np.full(len(strata), PRIOR_SQUARE)),
        monitors,
        [make_stratum_sampler(rates)] * len(monitors),
        level=declaration.level,
        batch=declaration.batch,
        most=declaration.most // count_arms(declaration),
        random=make_named_stream(declaration.seed, "second", name, f"{rates}"),
    )


def list_power_rows(names: Sequence[str], samples: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each file and size of the difference."""
    for name in names:
        declaration = read_declaration(FOLDER / f"{name}.yaml")
        arms = count_arms(declaration)
        for size in SIZES.values():
            rates = scale_rates(ASSUMED[name], size)
            mean = float(np.mean([more - fewer for more, fewer in rates]))
            ended = simulate_file(name, rates, samples)
            decided = ended.decisions == (Decision.MORE if mean > 0 else Decision.FEWER)
            equivalent = ended.decisions == Decision.EQUIVALENT
            # all arms are driven until the last comparison is decided: an upper bound
            drives = arms * ended.pairs.max(axis=1)
            yield (
                f"`{name}`",
                str(arms),
                str(declaration.most),
                f"{mean:+.3f}",
                f"{decided.mean():.2f}" if mean else "-",
                f"{equivalent.mean():.2f}",
                f"{np.median(drives):.0f}",
            )


def print_power_table() -> None:
    """Print the table of the protocol as Markdown."""
    print("| " + " | ".join(HEADER) + " |")
    print("|" + " --- |" * len(HEADER))
    for row in list_power_rows(ORDER, SIMULATED):
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    print_power_table()
