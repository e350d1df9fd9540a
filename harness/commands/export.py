"""Export at the command line: passes the records of a campaign on to another tool."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.campaign.exports.exporting import build_exports, compute_finished_means
from harness.campaign.exports.values import number_steps, read_attempt_values, read_campaign_facts
from harness.campaign.planning.validation import refuse_misfit
from harness.campaign.settings.config import format_one_line
from harness.campaign.settings.declared import PartSettings
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.files import refuse_links
from harness.common.installation import CONF
from harness.common.plugins import describe_plugin_origin
from harness.common.suggestions import describe_unknown_name
from harness.common.terminal_lines import print_stdout_line
from harness.records.reading import CampaignRecords

COMMAND = CommandDeclaration(
    group="Campaigns",
    rank=50,
    purpose="pass the results on to TensorBoard, MLflow or Weights & Biases",
    extra="run",
    examples=(
        "crucible export runs/demo --to tensorboard",
        "crucible export runs/demo --to wandb mode=online project=fusion",
        "crucible export runs/demo --to mylab.export:Mine file=results.txt",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible export` takes."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="a campaign's folder")
    parser.add_argument(
        "--to",
        required=True,
        nargs="+",
        metavar=("NAME", "name=value"),
        help=(
            f"{', '.join(list_shipped_exports())}, or your own package.module:Class; then the"
            " settings of the export"
        ),
    )
    parser.set_defaults(run=run_export_command)


def run_export_command(options: argparse.Namespace) -> int:
    """Pass all finished attempts on."""
    campaign = CampaignRecords(options.folder)
    refuse_links(options.folder)
    # the export
    name, *given = options.to
    part = make_export_part(name, given)
    refuse_misfit(f"export.{name}", part)
    (export,) = build_exports({name: part}).values()
    # finished attempts, in the order of their steps
    facts, steps = read_campaign_facts(options.folder), number_steps(options.folder)
    keys = sorted(
        campaign.find_attempts(), key=lambda key: (steps.get((key.route, key.seed), 0), key)
    )
    if not keys:
        raise UserError(f"{options.folder}: no attempt has a result")
    # an export's package raises what it likes: one line of it
    try:
        export.start(facts)
        for key in keys:
            export.attempt(read_attempt_values(campaign, key, steps))
        export.end(compute_finished_means(options.folder))
    except UserError:
        raise
    except Exception as problem:  # of another package, or of a server
        why = f"{type(problem).__name__}: {format_one_line(problem)}"
        raise UserError(f"export to {name}: {why}") from None
    print_stdout_line(f"{len(keys)} attempt{'s' * (len(keys) != 1)} exported to {name}")
    return 0


def list_shipped_exports() -> list[str]:
    """Return the names of the shipped exports."""
    return sorted(file.stem for file in (CONF / "export").glob("*.yaml"))


def make_export_part(name: str, given: Sequence[str]) -> PartSettings[Any]:
    """Return the settings of a shipped export, or of a class of the user's own."""
    for word in given:
        if "=" not in word:
            raise UserError(f"{word}: a setting is written name=value")
    # a class of the user's, or a shipped choice
    if ":" in name:
        settings: dict[str, Any] = {"_target_": name.replace(":", ".")}
    elif name in list_shipped_exports():
        settings = yaml.safe_load((CONF / "export" / f"{name}.yaml").read_text())[name]
    else:
        raise UserError(
            f"--to: {describe_unknown_name('export', name, list_shipped_exports())}; or"
            f" package.module:Class{describe_plugin_origin(name)}"
        )
    # settings of the command line over those
    try:
        merged = OmegaConf.merge(settings, OmegaConf.from_dotlist(list(given)))
        plain = OmegaConf.to_container(merged, resolve=True)
    except (OmegaConfBaseException, ValueError) as problem:
        raise UserError(f"{' '.join(given)}: {format_one_line(problem)}") from None
    assert isinstance(plain, dict)
    return cast("PartSettings[Any]", {str(key): value for key, value in plain.items()})
