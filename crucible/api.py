"""All that a plug-in or a notebook imports: `from crucible.api import Metric, StepData`.

A name's own module is imported when the name is asked for: a metric that is imported in the process
of an attempt must not load pandas, and reading records must not load torch.
"""
# ruff: noqa: PLC0414 - `Boxes as Boxes` says to type checkers that others may import it from here

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.driving.driver import Driver as Driver
    from agents.merging import find_ego_boxes as find_ego_boxes
    from agents.merging import merge_partner_boxes as merge_partner_boxes
    from agents.perception.fusion import FeatureSpec as FeatureSpec
    from agents.perception.fusion import IntermediateFusion as IntermediateFusion
    from analysis.drawing.picture import render_canvas as render_canvas
    from analysis.drawing.plots import PlotLine as PlotLine
    from analysis.drawing.plots import render_line_plot as render_line_plot
    from crucible.campaigns import Campaign as Campaign
    from crucible.campaigns import CampaignError as CampaignError
    from crucible.campaigns import open_campaign as open_campaign
    from crucible.campaigns import run_attempt as run_attempt
    from crucible.campaigns import run_campaign as run_campaign
    from crucible.check import check_plugin as check_plugin
    from crucible.check_study import check_composed_study as check_composed_study
    from harness.campaign.exports.export import AttemptValues as AttemptValues
    from harness.campaign.exports.export import CampaignFacts as CampaignFacts
    from harness.campaign.exports.export import Export as Export
    from harness.channel.attacks.attack import Attack as Attack
    from harness.channel.attacks.attack import LyingMessage as LyingMessage
    from harness.channel.compensation.compensation import Compensation as Compensation
    from harness.channel.compensation.compensation import MovedBoxes as MovedBoxes
    from harness.channel.defences.defence import Defence as Defence
    from harness.channel.defences.defence import DefenceScene as DefenceScene
    from harness.channel.defences.defence import Judgement as Judgement
    from harness.channel.disturbance import PARTNERS as PARTNERS
    from harness.channel.disturbance import Disturbance as Disturbance
    from harness.channel.disturbance import Sweep as Sweep
    from harness.channel.disturbance import cannot_touch as cannot_touch
    from harness.channel.effects import Shift as Shift
    from harness.common.errors import UserError as UserError
    from harness.common.randomness import make_named_stream as make_named_stream
    from harness.evaluation.metrics.metric import AttemptData as AttemptData
    from harness.evaluation.metrics.metric import Metric as Metric
    from harness.evaluation.metrics.metric import StepData as StepData
    from harness.evaluation.patterns import classify_patterns as classify_patterns
    from harness.evaluation.patterns import count_patterns as count_patterns
    from harness.records.arms import Arm as Arm
    from harness.records.reading import CampaignRecords as CampaignRecords
    from harness.types.drivers import RouteDriver as RouteDriver
    from harness.types.systems import PerceivingSystem as PerceivingSystem
    from harness.types.vocabulary import Boxes as Boxes
    from harness.types.vocabulary import CameraImage as CameraImage
    from harness.types.vocabulary import Control as Control
    from harness.types.vocabulary import EgoObservation as EgoObservation
    from harness.types.vocabulary import Features as Features
    from harness.types.vocabulary import Kind as Kind
    from harness.types.vocabulary import Message as Message
    from harness.types.vocabulary import Observation as Observation
    from harness.types.vocabulary import Perceived as Perceived
    from harness.types.vocabulary import Points as Points
    from harness.types.vocabulary import Pose as Pose
    from harness.types.vocabulary import Route as Route
    from harness.types.vocabulary import Step as Step
    from harness.world.attempt_context import EgoState as EgoState
    from harness.world.changes.background import BackgroundChange as BackgroundChange
    from harness.world.changes.census import SceneCensus as SceneCensus
    from harness.world.changes.change import SceneChange as SceneChange
    from harness.world.changes.stage import SpawnedScene as SpawnedScene
    from harness.world.hazards.encounter import Encounter as Encounter
    from harness.world.hazards.hazard import Hazard as Hazard
    from harness.world.hazards.hazard import NoPlaceError as NoPlaceError
    from harness.world.hazards.meeting import StaticActor as StaticActor
    from harness.world.hazards.parameters import NumberParameter as NumberParameter
    from harness.world.hazards.spec import HazardSpec as HazardSpec
    from harness.world.hazards.track import Track as Track
    from harness.world.routes.files import RouteSpec as RouteSpec
    from harness.world.routes.sources import RouteSource as RouteSource
    from harness.world.routes.sources import make_route_spec as make_route_spec
    from studies.search.candidates import SearchCandidate as SearchCandidate
    from studies.search.candidates import SearchOutcome as SearchOutcome
    from studies.search.candidates import number_candidates as number_candidates
    from studies.search.settings import SearchSettings as SearchSettings
    from studies.space import sample_values as sample_values


def __getattr__(name: str) -> Any:
    """Import what is asked for."""
    module = read_exported_modules().get(name)
    if module is None:
        raise AttributeError(f"module 'crucible.api' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value  # asked for once
    return value


def __dir__() -> list[str]:
    """Return what can be imported from here."""
    return sorted(read_exported_modules())


@cache
def read_exported_modules() -> dict[str, str]:
    """Return the module of each name, from the imports above: no second list can differ."""
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    (listed,) = (node for node in tree.body if isinstance(node, ast.If))
    return {
        name.name: str(node.module)
        for node in listed.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
