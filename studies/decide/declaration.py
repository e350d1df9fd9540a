"""A study as a YAML file declares it: comparisons, error rate, budget, strata, routes.

Everything here is fixed before the first drive. What is wrong with a file is one line that names
the file and the key.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from analysis.statistics.sequential_family import Claim, Question
from harness.common.errors import UserError
from harness.common.nesting import NestingError
from harness.common.safe_reading import read_yaml_within
from harness.common.suggestions import describe_unknown_name
from studies.decide.monitor import FLOORS, DecisionRule
from studies.decide.outcomes import OUTCOMES

Divider = Literal["kind", "reveal"]
DIVIDERS: tuple[Divider, ...] = get_args(Divider)
"""What routes can be divided by: kinds of hazards, reveal time by the map."""
Population = Literal["routes", "generator"]
"""What a study is about: the routes that are made beforehand, or all that the generator makes."""
REVEAL_EDGES = (0.8, 1.3, 2.2)
"""Seconds between classes of reveal time, as the generator has them."""
COUNTED = "counted"
"""Shares of strata that are those of the routes."""
KEYS = (
    *("name", "comparisons", "level", "most", "batch", "floor", "strata"),
    *("routes", "seed", "seeds", "ideal", "campaign"),
)
MOST_DRIVES, MOST_COMPARISONS = 100_000, 64


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredComparison:
    """Two arms, and what is to be decided about them.

    Attributes:
        name: as it is shown.
        a: the arm that is compared with, as text: `late/none`.
        b: the arm that is compared.
        outcome: a name of `OUTCOMES`.
        question: superiority, equivalence, or either.
        claim: `mean` or `somewhere`.
        margin: largest difference that counts as equivalent; 0 where that is not asked.
    """

    name: str
    a: str
    b: str
    outcome: str
    question: Question
    claim: Claim
    margin: float

    def make_rule(self, floor: float) -> DecisionRule:
        """Return how it is decided."""
        return DecisionRule(
            question=self.question,
            claim=self.claim,
            margin=self.margin,
            allocated=floor < 1,
            predicted=True,
            floor=floor,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredStrata:
    """What routes are divided by.

    Attributes:
        by: dividers, in the order of a stratum's name.
        reveal_edges: s, between classes of reveal time.
        shares: of the population, by name of the stratum; None: counted.
    """

    by: tuple[Divider, ...] = ()
    reveal_edges: tuple[float, ...] = REVEAL_EDGES
    shares: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedRoutes:
    """Routes that a generator makes."""

    town: str
    seed: int
    count: int  # made before the first drive
    kinds: tuple[str, ...]  # of hazards
    population: Population = "routes"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyDeclaration:
    """What is decided, and by which drives.

    Attributes:
        level: family-wise error rate.
        most: drives of the compared arms at most.
        batch: pairs between two looks.
        floor: least part of the samples that is as the population has it.
        routes: words for the campaign, or what a generator is asked for.
        seed: of the sampling.
        seeds: one: each visit of a route has the next seed; several: sampled.
        ideal: systems that divide routes by their outcomes: alone, and with partners; or none.
        campaign: words as of `crucible run`.
    """

    name: str
    comparisons: tuple[DeclaredComparison, ...]
    level: float
    most: int
    batch: int
    floor: float
    strata: DeclaredStrata
    routes: tuple[str, ...] | GeneratedRoutes
    seed: int
    seeds: tuple[int, ...]
    ideal: tuple[str, ...]
    campaign: tuple[str, ...]

    def to_record(self) -> dict[str, Any]:
        """Return the declaration as JSON gives it back; comparisons by name."""
        record = {
            **asdict(self),
            "comparisons": {one.name: asdict(one) for one in self.comparisons},
        }
        # records of studies about the routes themselves have no such key
        if isinstance(self.routes, GeneratedRoutes) and not self.is_of_generator:
            del record["routes"]["population"]
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in record.items()
        }

    @property
    def is_of_generator(self) -> bool:
        """Whether the study is about all routes that a generator makes."""
        routes = self.routes
        return isinstance(routes, GeneratedRoutes) and routes.population == "generator"


def parse_declaration(record: Mapping[str, Any]) -> StudyDeclaration:
    """Return the declaration that `StudyDeclaration.to_record` wrote.

    Raises:
        KeyError, TypeError, ValueError: it is not whole.
    """
    strata, routes = record["strata"], record["routes"]
    fields = {name: record[name] for name in ("name", "level", "most", "batch", "floor", "seed")}
    return StudyDeclaration(
        **fields,
        comparisons=tuple(DeclaredComparison(**one) for one in record["comparisons"].values()),
        strata=DeclaredStrata(
            by=tuple(strata["by"]),
            reveal_edges=tuple(strata["reveal_edges"]),
            shares=strata["shares"],
        ),
        routes=GeneratedRoutes(**{**routes, "kinds": tuple(routes["kinds"])})
        if isinstance(routes, dict)
        else tuple(routes),
        seeds=tuple(record["seeds"]),
        ideal=tuple(record["ideal"]),
        campaign=tuple(record["campaign"]),
    )


class DeclarationReader:
    """Reads values of a file; each refusal names the file and the key."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def refuse(self, place: str, why: str) -> UserError:
        """Return the error about a place; `why` may begin with the value, as in `= 3: must be`."""
        joint = " " if why.startswith("=") else ": "
        return UserError(f"{self.file}: {place}{joint}{why}" if place else f"{self.file}: {why}")

    def read_mapping(self, value: Any, place: str, known: Iterable[str] | None) -> dict[str, Any]:
        """Return a mapping; refuse keys that have no meaning.

        Args:
            value: any.
            place: dotted keys that lead there.
            known: keys that it may have; None: any.
        """
        if not isinstance(value, dict) or not value:
            raise self.refuse(place, f"= {value}: must be a mapping")
        given = {str(name): inner for name, inner in value.items()}
        for name in given if known is not None else ():
            known = tuple(known or ())
            if name not in known:
                raise self.refuse(place, describe_unknown_name("key", name, known))
        return given

    def read_number(self, value: Any, place: str, low: float, high: float) -> float:
        """Return a number above `low`, up to `high`."""
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        if not fits or not math.isfinite(value) or not low < value <= high:
            raise self.refuse(place, f"= {value}: must be a number > {low:g} and ≤ {high:g}")
        return float(value)

    def read_count(self, value: Any, place: str, least: int, most: int = 2**31 - 1) -> int:
        """Return a whole number from `least` to `most`."""
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.refuse(place, f"= {value}: must be a whole number from {least} to {most}")
        return value

    def read_choice(self, value: Any, place: str, kind: str, known: Iterable[str]) -> str:
        """Return one of some names."""
        if value not in (known := tuple(known)):
            raise self.refuse(place, describe_unknown_name(kind, str(value), known))
        return str(value)

    def read_text(self, value: Any, place: str) -> str:
        """Return a text of one line that is not empty."""
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise self.refuse(place, f"= {value}: must be a text of one line")
        return value

    def read_texts(self, value: Any, place: str) -> tuple[str, ...]:
        """Return a list of texts."""
        if not isinstance(value, list):
            raise self.refuse(place, f"= {value}: must be a list")
        return tuple(self.read_text(one, f"{place}[{at}]") for at, one in enumerate(value))


def read_declaration(file: Path) -> StudyDeclaration:
    """Return the study that a file declares.

    Raises:
        UserError: the file cannot be read, or a key is missing, unknown or wrong.
    """
    try:
        content = read_yaml_within(file, follow=True)
    except (OSError, UnicodeDecodeError, NestingError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise UserError(f"{file}: cannot be read ({reason})") from None
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        where = "" if mark is None else f" (line {mark.line + 1})"
        raise UserError(f"{file}: is not valid YAML{where}") from None
    except (ValueError, RecursionError):
        raise UserError(f"{file}: is not valid YAML") from None
    reader = DeclarationReader(file)
    given = reader.read_mapping(content, "", KEYS)
    for name in ("name", "comparisons", "most", "routes"):
        if name not in given:
            raise reader.refuse(name, "is missing")
    comparisons = read_comparisons(reader, given["comparisons"])
    floor = max(FLOORS[one.claim] for one in comparisons)
    if "floor" in given:
        floor = reader.read_number(given["floor"], "floor", 0.05, 1.0)
    ideal = reader.read_texts(given.get("ideal", []), "ideal")
    if len(ideal) > 2:
        raise reader.refuse("ideal", "must be one arm or two: alone, and with partners")
    strata = read_strata(reader, given.get("strata", {"by": []}))
    if ideal and strata.shares is not None:
        raise reader.refuse("strata.shares", "must be counted where ideal systems divide routes")
    routes = read_declared_routes(reader, given["routes"])
    if ideal and isinstance(routes, GeneratedRoutes) and routes.population == "generator":
        raise reader.refuse("ideal", "needs routes.population = routes: it drives all of them")
    return StudyDeclaration(
        name=reader.read_text(given["name"], "name"),
        comparisons=comparisons,
        level=reader.read_number(given.get("level", 0.05), "level", 0.0, 0.5),
        most=reader.read_count(given["most"], "most", 2, MOST_DRIVES),
        batch=reader.read_count(given.get("batch", 8), "batch", 1, 1000),
        floor=floor,
        strata=strata,
        routes=routes,
        seed=reader.read_count(given.get("seed", 1), "seed", 0),
        seeds=read_declared_seeds(reader, given.get("seeds", 1)),
        ideal=ideal,
        campaign=reader.read_texts(given.get("campaign", []), "campaign"),
    )


def read_comparisons(reader: DeclarationReader, value: Any) -> tuple[DeclaredComparison, ...]:
    """Return the comparisons in the order of the file."""
    listed = reader.read_mapping(value, "comparisons", None)
    if len(listed) > MOST_COMPARISONS:
        raise reader.refuse("comparisons", f"{len(listed)}; a study has {MOST_COMPARISONS} at most")
    return tuple(read_comparison(reader, name, one) for name, one in listed.items())


def read_comparison(reader: DeclarationReader, name: str, value: Any) -> DeclaredComparison:
    """Return one comparison."""
    place = f"comparisons.{name}"
    reader.read_text(name, place)
    known = ("a", "b", "outcome", "question", "claim", "margin")
    given = reader.read_mapping(value, place, known)
    for side in ("a", "b"):
        if side not in given:
            raise reader.refuse(f"{place}.{side}", "is missing; an arm, as late/latency")
    question: Question = "superiority"
    asked = reader.read_choice(
        given.get("question", question), f"{place}.question", "question", get_args(Question)
    )
    for one in get_args(Question):
        question = one if one == asked else question
    claim: Claim = "mean"
    claimed = reader.read_choice(
        given.get("claim", claim), f"{place}.claim", "claim", get_args(Claim)
    )
    claim = "somewhere" if claimed == "somewhere" else "mean"
    if claim == "somewhere" and question == "equivalence":
        raise reader.refuse(f"{place}.claim", "= somewhere: an equivalence is of the mean")
    if question != "superiority" and "margin" not in given:
        raise reader.refuse(f"{place}.margin", f"is missing; question = {question} needs it")
    if question == "superiority" and "margin" in given:
        raise reader.refuse(f"{place}.margin", "is of no use where question = superiority")
    margin = (
        reader.read_number(given["margin"], f"{place}.margin", 0, 1) if "margin" in given else 0.0
    )
    return DeclaredComparison(
        name=name,
        a=reader.read_text(given["a"], f"{place}.a"),
        b=reader.read_text(given["b"], f"{place}.b"),
        outcome=reader.read_choice(
            given.get("outcome", "violation"), f"{place}.outcome", "outcome", OUTCOMES
        ),
        question=question,
        claim=claim,
        margin=margin,
    )


def read_strata(reader: DeclarationReader, value: Any) -> DeclaredStrata:
    """Return what routes are divided by."""
    given = reader.read_mapping(value, "strata", ("by", "reveal_edges", "shares"))
    named = reader.read_texts(given.get("by", []), "strata.by")
    for at, name in enumerate(named):
        reader.read_choice(name, f"strata.by[{at}]", "divider", DIVIDERS)
    if len(set(named)) < len(named):
        raise reader.refuse("strata.by", f"= {list(named)}: names one twice")
    edges = given.get("reveal_edges", list(REVEAL_EDGES))
    ascending = (
        isinstance(edges, list)
        and bool(edges)
        and all(isinstance(edge, int | float) and not isinstance(edge, bool) for edge in edges)
        and all(low < high for low, high in zip([0.0, *edges], [*edges, math.inf], strict=True))
    )
    if not ascending:
        raise reader.refuse("strata.reveal_edges", f"= {edges}: must be ascending seconds > 0")
    shares = given.get("shares", COUNTED)
    return DeclaredStrata(
        by=tuple(one for one in DIVIDERS if one in named),
        reveal_edges=tuple(float(edge) for edge in edges),
        shares=None if shares == COUNTED else read_shares(reader, shares),
    )


def read_shares(reader: DeclarationReader, value: Any) -> dict[str, float]:
    """Return the shares of strata, which must add up to 1."""
    given = reader.read_mapping(value, "strata.shares", None)
    shares = {
        name: reader.read_number(share, f"strata.shares.{name}", 0, 1)
        for name, share in given.items()
    }
    total = math.fsum(shares.values())
    if abs(total - 1) > 1e-6:
        raise reader.refuse("strata.shares", f"add up to {total:g}: must add up to 1")
    return {name: share / total for name, share in shares.items()}


def read_declared_routes(
    reader: DeclarationReader, value: Any
) -> tuple[str, ...] | GeneratedRoutes:
    """Return the words that choose routes, or what a generator is asked for."""
    if isinstance(value, str):
        return (f"routes={reader.read_text(value, 'routes')}",)
    given = reader.read_mapping(
        value, "routes", ("file", "hazards", "town", "seed", "count", "kinds", "population")
    )
    if "file" in given:
        for name in ("town", "seed", "count", "kinds", "population"):
            if name in given:
                raise reader.refuse(f"routes.{name}", "is of a generator; leave it or file out")
        hazards = given.get("hazards")
        file = quote_word(reader, given["file"], "routes.file")
        named = "null" if hazards is None else quote_word(reader, hazards, "routes.hazards")
        return (*FILES_GROUP, f"routes.file={file}", f"routes.hazards={named}")
    for name in ("town", "count"):
        if name not in given:
            raise reader.refuse(f"routes.{name}", "is missing; or name a file")
    if "hazards" in given:
        raise reader.refuse("routes.hazards", "belongs to a file; a generator has kinds")
    population: Population = "routes"
    asked = given.get("population", population)
    known = get_args(Population)
    if reader.read_choice(asked, "routes.population", "population", known) == "generator":
        population = "generator"
    return GeneratedRoutes(
        town=reader.read_text(given["town"], "routes.town"),
        seed=reader.read_count(given.get("seed", 0), "routes.seed", 0),
        count=reader.read_count(given["count"], "routes.count", 1, 10_000),
        kinds=reader.read_texts(given.get("kinds", []), "routes.kinds"),
        population=population,
    )


FILES_GROUP = ("routes=crucible05",)
"""The group whose other settings routes from a file have."""


def quote_word(reader: DeclarationReader, value: Any, place: str) -> str:
    """Return a path as a word of the command line has it."""
    text = reader.read_text(value, place)
    if "'" in text or "\\" in text:
        raise reader.refuse(place, f"= {text}: must have no quotation mark and no backslash")
    return f"'{text}'"


def read_declared_seeds(reader: DeclarationReader, value: Any) -> tuple[int, ...]:
    """Return the first seed, or the seeds that are sampled from."""
    if not isinstance(value, list):
        return (reader.read_count(value, "seeds", 1),)
    seeds = tuple(reader.read_count(one, f"seeds[{at}]", 0) for at, one in enumerate(value))
    if len(seeds) < 2 or len(set(seeds)) < len(seeds):
        raise reader.refuse("seeds", f"= {value}: must be one number, or a list of different ones")
    return seeds
