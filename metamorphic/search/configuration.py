"""A search from its configuration: a campaign with one condition that has parameters.

The configuration is that of `crucible run` with a file of `conf/search` on top. Everything is
checked here, for values from all over the space, before anything is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from omegaconf import DictConfig, OmegaConf

from harness.campaign.folder.assignments import Assignment
from harness.campaign.folder.campaign_folder import place
from harness.campaign.folder.inputs import with_inputs
from harness.campaign.planning.plan import arms_of, plan, without_place
from harness.campaign.planning.validation import refuse_misfit, refuse_misshapen
from harness.campaign.settings.composing import compose_config
from harness.campaign.settings.composition import BLAMED, explained
from harness.campaign.settings.config import NOT_OF_THE_RESULT, build, plain
from harness.campaign.settings.declared import Settings
from harness.campaign.settings.trust import targets
from harness.errors import UserError
from harness.installation import CONF
from harness.records.arms import NONE, Arm
from harness.suggestions import unknown
from metamorphic.search.behaviour import MEASURES
from metamorphic.search.making import SAMPLERS, made_sampler
from metamorphic.search.objectives import OBJECTIVES
from metamorphic.search.settings import BehaviourAxis, SearchSettings
from metamorphic.search.template import ROUTE, Template, read_template
from metamorphic.search.type_checks import (
    mapping,
    names_in,
    number_in,
    only,
    parameter_of,
    refusal,
    whole_in,
)
from metamorphic.space import Parameter, Space, Values

GROUP = "search"
KEYS = (
    *("sampler", "seed", "budget", "batch", "startup", "seeds"),
    *("objectives", "behaviour", "space", "condition", "hazards", "study"),
)
Seeds = Literal["same", "fresh"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """What a search drives, checked."""

    campaign: Settings  # with the condition `none` alone, and the digests of its inputs
    search: SearchSettings
    template: Template
    assignments: tuple[Assignment, ...]
    seeds: Seeds  # `same`: one world for all evaluations; `fresh`: another for each
    study: Mapping[str, Any]  # what `--study` runs
    folder: Path

    @property
    def town(self) -> str:
        """The town of all routes."""
        return self.assignments[0].route.town

    @property
    def base_seed(self) -> int:
        """The campaign's seed, that of all evaluations where seeds are the same."""
        return self.campaign["seeds"][0]

    def route_of(self, values: Values) -> str:
        """Return the route of an evaluation."""
        return str(values.get(ROUTE, self.assignments[0].route.name))

    def assignment_of(self, values: Values) -> Assignment:
        """Return the route of an evaluation, with its hazards."""
        name = self.route_of(values)
        (chosen,) = (one for one in self.assignments if one.route.name == name)
        return self.template.assignment(chosen, values)

    def condition_of(self, values: Values) -> list[Any]:
        """Return the condition's parts; what is too small to make a difference is left out.

        Zero latency is no latency, and a pose error of a micrometre cannot be delivered.
        """
        parts = self.template.parts(values)
        made = [(part, build(part, f"interference.{GROUP}")) for part in parts]
        return [part for part, disturbance in made if not without_effect(disturbance)]

    def arm(self, condition: str) -> Arm:
        """Return the arm of a condition."""
        (system,), (cooperation,) = self.campaign["system"], self.campaign["cooperation"]
        return Arm.of(system=system, cooperation=cooperation, condition=condition)


def without_effect(disturbance: Any) -> bool:
    """Return whether a part of a condition asks for nothing, or for too little to be delivered."""
    too_small = getattr(disturbance, "too_small", lambda: None)
    return bool(getattr(disturbance, "size_zero", False) or too_small())


def composed(
    name: str, overrides: Sequence[str], folders: Sequence[Path] = (), *, trust: bool = False
) -> DictConfig:
    """Return the configuration of a file of `conf/search`, or of the same folder elsewhere."""
    choices = sorted(
        {path.stem for folder in (*folders, CONF) for path in (folder / GROUP).glob("*.yaml")}
    )
    if name not in choices:
        raise UserError(f"{GROUP}: {unknown('configuration', name, choices)}")
    try:
        return compose_config([f"+{GROUP}={name}", *overrides], folders, trust=trust)
    except Exception as problem:  # Hydra and OmegaConf have no common one
        blamed = BLAMED.search(str(problem))
        if blamed is not None and blamed[1].startswith(f"{GROUP}."):
            raise UserError(
                f"configuration: {blamed[1]}: not in the configuration; +{blamed[1]}=... adds it"
            ) from None
        raise UserError(explained(problem, overrides, folders)) from None


def planned_search(config: DictConfig) -> SearchPlan:
    """Return the plan of a configuration; whatever is wrong with it is refused."""
    given = mapping(OmegaConf.to_container(config.get(GROUP), resolve=False), "")
    rest = OmegaConf.masked_copy(config, [str(key) for key in config if key != GROUP])
    settings = {**plain(rest), "interference": {NONE: []}}
    campaign = cast("Settings", settings)
    refuse_misshapen(campaign)
    refuse_several(campaign)
    planned = plan(campaign)
    space = space_of(given, [one.route.name for one in planned.assignments])
    template = read_template(given, space)
    template.refuse_without_hazard(planned.assignments)
    campaign = cast("Settings", with_inputs(campaign))
    search = settings_of(given, space, campaign)
    made_sampler(search)
    ready = SearchPlan(
        campaign=campaign,
        search=search,
        template=template,
        assignments=planned.assignments,
        seeds=seeds_of(given),
        study=mapping(given.get("study") or {}, "study"),
        folder=place(cast("Settings", {**campaign, GROUP: search.record()})),
    )
    refuse_values(ready)
    return ready


def refuse_several(campaign: Settings) -> None:
    """Refuse several systems or cooperations, and several seeds: a search has one of each."""
    for name in ("system", "cooperation"):
        if len(campaign[name]) != 1:
            chosen = ", ".join(campaign[name]) or "none"
            raise UserError(f"configuration: {name}: {chosen}; a search has one: {name}=NAME")
    if len(campaign["seeds"]) != 1:
        raise UserError(f"configuration: seeds is {campaign['seeds']}; a search has one")


def space_of(given: Mapping[str, Any], routes: Sequence[str]) -> Space:
    """Return the parameters; with several routes, one more chooses among them."""
    listed = mapping(given.get("space") or {}, "space")
    if ROUTE in listed:
        raise refusal(f"space.{ROUTE}", "is made of the campaign's routes; choose another name")
    if not listed:
        raise refusal("space", "must have one parameter or more")
    space = tuple(parameter_of(name, value) for name, value in listed.items())
    if len(routes) == 1:
        return space
    return (*space, Parameter(name=ROUTE, unit="", kind="choice", choices=tuple(routes)))


def settings_of(given: Mapping[str, Any], space: Space, campaign: Settings) -> SearchSettings:
    """Return the settings that make equal searches equal."""
    only(given, KEYS, "")
    sampler = given.get("sampler")
    if sampler not in SAMPLERS:
        raise refusal("sampler", unknown("sampler", str(sampler), SAMPLERS))
    meaning = {name: value for name, value in campaign.items() if name not in NOT_OF_THE_RESULT}
    return SearchSettings(
        sampler=str(sampler),
        seed=whole_in(given, "seed", "", least=0),
        budget=whole_in(given, "budget", ""),
        batch=whole_in(given, "batch", ""),
        startup=whole_in(given, "startup", ""),
        space=space,
        objectives=names_in(given.get("objectives"), "objectives", OBJECTIVES),
        behaviour=axes_of(given),
        evaluation={
            "campaign": meaning,
            "condition": list(given.get("condition") or []),
            "hazards": list(given.get("hazards") or []),
            "seeds": seeds_of(given),
        },
    )


def axes_of(given: Mapping[str, Any]) -> tuple[BehaviourAxis, ...]:
    """Return the behaviour measures that divide failures."""
    listed = mapping(given.get("behaviour") or {}, "behaviour")
    axes = []
    for name, value in listed.items():
        where = f"behaviour.{name}"
        if name not in MEASURES:
            raise refusal("behaviour", unknown("measure", name, MEASURES))
        axis = mapping(value, where)
        only(axis, ("unit", "low", "high", "cells"), where)
        axes.append(
            BehaviourAxis(
                name=name,
                unit=str(axis.get("unit", "")),
                low=number_in(axis, "low", where),
                high=number_in(axis, "high", where),
                cells=whole_in(axis, "cells", where),
            )
        )
    return tuple(axes)


def seeds_of(given: Mapping[str, Any]) -> Seeds:
    """Return whether evaluations share a seed."""
    seeds = given.get("seeds", "same")
    if seeds == "same":
        return "same"
    if seeds == "fresh":
        return "fresh"
    raise refusal("seeds", f"= {seeds}: must be same or fresh")


def refuse_values(ready: SearchPlan) -> None:
    """Refuse a space with values that no campaign would drive: of the ends of every range."""
    name = GROUP
    for values in trial_values(ready.search.space):
        parts = ready.template.parts(values)
        for where, part in targets(parts, f"interference.{name}"):
            refuse_misfit(where, part)
        assignment = ready.assignment_of(values)
        for spec, why in without_place(ready.campaign, [assignment]):
            raise UserError(f"route {spec.route}: {spec.kind} at {described(values)}: {why}")
        effective = ready.condition_of(values)
        if not effective:
            continue
        trial = cast("Settings", {**ready.campaign, "interference": {NONE: [], name: effective}})
        arms, unfitting = arms_of(trial)
        if unfitting:
            raise UserError(f"configuration: {unfitting[0]}")
        if ready.arm(name) not in arms:
            (system,) = ready.campaign["system"]
            raise UserError(
                f"configuration: system.{system} reads no messages: the condition cannot do"
                " anything; choose another system"
            )


def trial_values(space: Space) -> Iterator[dict[str, float | str]]:
    """Yield values at both ends of every range, alone and together."""
    ends = (0.0, 1.0 - 1e-12)
    middle = {one.name: one.at(0.5) for one in space}
    yield middle
    for end in ends:
        yield {one.name: one.at(end) for one in space}
    for one in space:
        if one.kind == "choice":
            yield from ({**middle, one.name: choice} for choice in one.choices)
        else:
            yield from ({**middle, one.name: one.at(end)} for end in ends)


def described(values: Values) -> str:
    """Return values on one line."""
    return ", ".join(
        f"{name} = {value}" if isinstance(value, str) else f"{name} = {value:.4g}"
        for name, value in values.items()
    )
