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

from harness.campaign.folder.assignments import RouteAssignment
from harness.campaign.folder.campaign_folder import get_campaign_path
from harness.campaign.folder.inputs import with_inputs
from harness.campaign.planning.plan import build_arms, find_unplaced_hazards, plan_campaign
from harness.campaign.planning.validation import refuse_misfit, refuse_misshapen
from harness.campaign.settings.composing import compose_config
from harness.campaign.settings.composition import BLAMED, explain_composition_error
from harness.campaign.settings.computing import refuse_unrepeatable
from harness.campaign.settings.config import build_part, resolve_settings
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.trust import iter_targets
from harness.common.errors import UserError
from harness.common.installation import CONF
from harness.common.suggestions import describe_unknown_name
from harness.records.arms import NONE, Arm
from harness.types.record_names import IRRELEVANT_SETTINGS
from studies.search.behaviour import BEHAVIOUR_MEASURES
from studies.search.making import find_sampler, make_sampler
from studies.search.objectives import OBJECTIVES
from studies.search.setting_checks import (
    check_known_names,
    check_settings_mapping,
    get_finite_number,
    get_whole_number,
    make_settings_error,
    parse_parameter,
    refuse_unknown_keys,
)
from studies.search.settings import BehaviourAxis, SearchSettings
from studies.search.template import ROUTE_PARAMETER, ConditionTemplate, read_template
from studies.space import Space, SpaceParameter, Values

GROUP = "search"
KEYS = (
    *("sampler", "seed", "budget", "batch", "startup", "seeds"),
    *("objectives", "behaviour", "space", "condition", "hazards", "study"),
)
Seeds = Literal["same", "fresh"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """What a search drives, checked."""

    campaign: CampaignSettings  # with the condition `none` alone, and the digests of its inputs
    search: SearchSettings
    template: ConditionTemplate
    assignments: tuple[RouteAssignment, ...]
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

    def get_route(self, values: Values) -> str:
        """Return the route of an evaluation."""
        return str(values.get(ROUTE_PARAMETER, self.assignments[0].route.name))

    def get_assignment(self, values: Values) -> RouteAssignment:
        """Return the route of an evaluation, with its hazards.

        Args:
            values: by name of the parameter.
        """
        name = self.get_route(values)
        (chosen,) = (one for one in self.assignments if one.route.name == name)
        return self.template.fill_assignment(chosen, values)

    def build_condition(self, values: Values) -> list[Any]:
        """Return the condition's parts; what is too small to make a difference is left out.

        Zero latency is no latency, and a pose error of a micrometre cannot be delivered.

        Args:
            values: by name of the parameter.
        """
        parts = self.template.fill_parts(values)
        made = [(part, build_part(part, f"interference.{GROUP}")) for part in parts]
        return [part for part, disturbance in made if not has_no_effect(disturbance)]

    def make_arm(self, condition: str) -> Arm:
        """Return the arm of a condition."""
        (system,), (cooperation,) = self.campaign["system"], self.campaign["cooperation"]
        return Arm.from_factors(system=system, cooperation=cooperation, condition=condition)


def has_no_effect(disturbance: Any) -> bool:
    """Return whether a part of a condition asks for nothing, or for too little to be delivered."""
    too_small = getattr(disturbance, "too_small", lambda: None)
    return bool(getattr(disturbance, "size_zero", False) or too_small())


def compose_search_config(
    name: str, overrides: Sequence[str], folders: Sequence[Path] = (), *, trust: bool = False
) -> DictConfig:
    """Return the configuration of a file of `conf/search`, or of the same folder elsewhere.

    Args:
        name: of a file of `conf/search`.
        overrides: words such as `budget=20`.
        folders: looked in before `conf`.
        trust: build classes that are not declared safe.

    Raises:
        UserError: no such configuration, or an override that does not fit.
    """
    choices = sorted(
        {path.stem for folder in (*folders, CONF) for path in (folder / GROUP).glob("*.yaml")}
    )
    if name not in choices:
        raise UserError(f"{GROUP}: {describe_unknown_name('configuration', name, choices)}")
    try:
        return compose_config([f"+{GROUP}={name}", *overrides], folders, trust=trust)
    except Exception as problem:  # Hydra and OmegaConf have no common one
        blamed = BLAMED.search(str(problem))
        if blamed is not None and blamed[1].startswith(f"{GROUP}."):
            raise UserError(
                f"configuration: {blamed[1]}: not in the configuration; +{blamed[1]}=... adds it"
            ) from None
        raise UserError(explain_composition_error(problem, overrides, folders)) from None


def plan_search(config: DictConfig) -> SearchPlan:
    """Return the plan of a configuration; whatever is wrong with it is refused."""
    # settings of the search apart from those of the campaign
    given = check_settings_mapping(OmegaConf.to_container(config.get(GROUP), resolve=False), "")
    rest = OmegaConf.masked_copy(config, [str(key) for key in config if key != GROUP])
    settings = {**resolve_settings(rest), "interference": {NONE: []}}
    # the campaign alone must be one
    campaign = cast("CampaignSettings", settings)
    refuse_misshapen(campaign)
    refuse_unrepeatable("configuration", campaign, "a search")
    refuse_several_choices(campaign)
    planned = plan_campaign(campaign)
    # then the space, and what its values change
    space = parse_space(given, [one.route.name for one in planned.assignments])
    template = read_template(given, space)
    template.refuse_without_hazard(planned.assignments)
    campaign = cast("CampaignSettings", with_inputs(campaign))
    search = build_search_settings(given, space, campaign)
    make_sampler(search)
    # everything together, refused where a value could not be driven
    ready = SearchPlan(
        campaign=campaign,
        search=search,
        template=template,
        assignments=planned.assignments,
        seeds=parse_seeds(given),
        study=check_settings_mapping(given.get("study") or {}, "study"),
        folder=get_campaign_path(cast("CampaignSettings", {**campaign, GROUP: search.to_record()})),
    )
    refuse_undrivable_values(ready)
    return ready


def refuse_several_choices(campaign: CampaignSettings) -> None:
    """Refuse several systems or cooperations, and several seeds: a search has one of each."""
    for name in ("system", "cooperation"):
        if len(campaign[name]) != 1:
            chosen = ", ".join(campaign[name]) or "none"
            raise UserError(f"configuration: {name}: {chosen}; a search has one: {name}=NAME")
    if len(campaign["seeds"]) != 1:
        raise UserError(f"configuration: seeds is {campaign['seeds']}; a search has one")


def parse_space(given: Mapping[str, Any], routes: Sequence[str]) -> Space:
    """Return the parameters; with several routes, one more chooses among them."""
    listed = check_settings_mapping(given.get("space") or {}, "space")
    if ROUTE_PARAMETER in listed:
        raise make_settings_error(
            f"space.{ROUTE_PARAMETER}", "is made of the campaign's routes; choose another name"
        )
    if not listed:
        raise make_settings_error("space", "must have one parameter or more")
    space = tuple(parse_parameter(name, value) for name, value in listed.items())
    if len(routes) == 1:
        return space
    return (
        *space,
        SpaceParameter(name=ROUTE_PARAMETER, unit="", kind="choice", choices=tuple(routes)),
    )


def build_search_settings(
    given: Mapping[str, Any], space: Space, campaign: CampaignSettings
) -> SearchSettings:
    """Return the settings that make equal searches equal."""
    refuse_unknown_keys(given, KEYS, "")
    sampler = str(given.get("sampler"))
    try:
        find_sampler(sampler)
    except UserError as problem:
        raise make_settings_error("sampler", str(problem)) from None
    meaning = {name: value for name, value in campaign.items() if name not in IRRELEVANT_SETTINGS}
    return SearchSettings(
        sampler=sampler,
        seed=get_whole_number(given, "seed", "", least=0),
        budget=get_whole_number(given, "budget", ""),
        batch=get_whole_number(given, "batch", ""),
        startup=get_whole_number(given, "startup", ""),
        space=space,
        objectives=check_known_names(given.get("objectives"), "objectives", OBJECTIVES),
        behaviour=parse_behaviour_axes(given),
        evaluation={
            "campaign": meaning,
            "condition": list(given.get("condition") or []),
            "hazards": list(given.get("hazards") or []),
            "seeds": parse_seeds(given),
        },
    )


def parse_behaviour_axes(given: Mapping[str, Any]) -> tuple[BehaviourAxis, ...]:
    """Return the behaviour measures that divide failures."""
    listed = check_settings_mapping(given.get("behaviour") or {}, "behaviour")
    axes = []
    for name, value in listed.items():
        where = f"behaviour.{name}"
        if name not in BEHAVIOUR_MEASURES:
            raise make_settings_error(
                "behaviour", describe_unknown_name("measure", name, BEHAVIOUR_MEASURES)
            )
        axis = check_settings_mapping(value, where)
        refuse_unknown_keys(axis, ("unit", "low", "high", "cells"), where)
        axes.append(
            BehaviourAxis(
                name=name,
                unit=str(axis.get("unit", "")),
                low=get_finite_number(axis, "low", where),
                high=get_finite_number(axis, "high", where),
                cells=get_whole_number(axis, "cells", where),
            )
        )
    return tuple(axes)


def parse_seeds(given: Mapping[str, Any]) -> Seeds:
    """Return whether evaluations share a seed."""
    seeds = given.get("seeds", "same")
    if seeds == "same":
        return "same"
    if seeds == "fresh":
        return "fresh"
    raise make_settings_error("seeds", f"= {seeds}: must be same or fresh")


def refuse_undrivable_values(ready: SearchPlan) -> None:
    """Refuse a space with values that no campaign would drive: of the ends of every range."""
    name = GROUP
    # ends of every range
    for values in iterate_trial_values(ready.search.space):
        # parts that the values are put into
        parts = ready.template.fill_parts(values)
        for where, part in iter_targets(parts, f"interference.{name}"):
            refuse_misfit(where, part)
        # hazards that have no place
        assignment = ready.get_assignment(values)
        for spec, why in find_unplaced_hazards(ready.campaign, [assignment]):
            raise UserError(
                f"route {spec.route}: {spec.kind} at {format_parameter_values(values)}: {why}"
            )
        # disturbances that the system cannot receive
        effective = ready.build_condition(values)
        if not effective:
            continue
        trial = cast(
            "CampaignSettings", {**ready.campaign, "interference": {NONE: [], name: effective}}
        )
        arms, unfitting = build_arms(trial)
        if unfitting:
            raise UserError(f"configuration: {unfitting[0]}")
        if ready.make_arm(name) not in arms:
            (system,) = ready.campaign["system"]
            raise UserError(
                f"configuration: system.{system} reads no messages: the condition cannot do"
                " anything; choose another system"
            )


def iterate_trial_values(space: Space) -> Iterator[dict[str, float | str]]:
    """Yield values at both ends of every range, alone and together."""
    ends = (0.0, 1.0 - 1e-12)
    middle = {one.name: one.get_value(0.5) for one in space}
    yield middle
    for end in ends:
        yield {one.name: one.get_value(end) for one in space}
    for one in space:
        if one.kind == "choice":
            yield from ({**middle, one.name: choice} for choice in one.choices)
        else:
            yield from ({**middle, one.name: one.get_value(end)} for end in ends)


def format_parameter_values(values: Values) -> str:
    """Return values on one line."""
    return ", ".join(
        f"{name} = {value}" if isinstance(value, str) else f"{name} = {value:.4g}"
        for name, value in values.items()
    )
