"""Export at the command line: passes the records of a campaign on to another tool."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.campaign.exports.exporting import exports_in, finished_means
from harness.campaign.exports.values import attempt_values, facts_of, steps_of
from harness.campaign.planning.validation import refuse_misfit
from harness.campaign.settings.config import one_line
from harness.campaign.settings.declared import Part
from harness.errors import UserError
from harness.files import refuse_links
from harness.installation import CONF
from harness.records.reading import Campaign
from harness.suggestions import unknown

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add `export`."""
    parser = commands.add_parser(
        "export", help="pass a campaign's results on to TensorBoard, MLflow or Weights & Biases"
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="a campaign's folder")
    parser.add_argument(
        "--to",
        required=True,
        nargs="+",
        metavar=("NAME", "name=value"),
        help=f"{', '.join(shipped())}, or package.module:Class of your own; and its settings",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Pass all finished attempts on."""
    campaign = Campaign(options.folder)
    refuse_links(options.folder)
    name, *given = options.to
    part = part_of(name, given)
    refuse_misfit(f"export.{name}", part)
    (export,) = exports_in({name: part}).values()
    facts, steps = facts_of(options.folder), steps_of(options.folder)
    keys = sorted(campaign.attempts(), key=lambda key: (steps.get((key.route, key.seed), 0), key))
    if not keys:
        raise UserError(f"{options.folder}: no attempt has a result")
    try:
        export.start(facts)
        for key in keys:
            export.attempt(attempt_values(campaign, key, steps))
        export.end(finished_means(options.folder))
    except UserError:
        raise
    except Exception as problem:  # of another package, or of a server
        why = f"{type(problem).__name__}: {one_line(problem)}"
        raise UserError(f"export to {name}: {why}") from None
    print(f"{len(keys)} attempt{'s' * (len(keys) != 1)} exported to {name}")
    return 0


def shipped() -> list[str]:
    """Return the names of the shipped exports."""
    return sorted(file.stem for file in (CONF / "export").glob("*.yaml"))


def part_of(name: str, given: Sequence[str]) -> Part[Any]:
    """Return the settings of a shipped export, or of a class of the user's own."""
    for word in given:
        if "=" not in word:
            raise UserError(f"{word}: a setting is written name=value")
    if ":" in name:
        settings: dict[str, Any] = {"_target_": name.replace(":", ".")}
    elif name in shipped():
        settings = yaml.safe_load((CONF / "export" / f"{name}.yaml").read_text())[name]
    else:
        raise UserError(f"--to: {unknown('export', name, shipped())}; or package.module:Class")
    try:
        merged = OmegaConf.merge(settings, OmegaConf.from_dotlist(list(given)))
        plain = OmegaConf.to_container(merged, resolve=True)
    except (OmegaConfBaseException, ValueError) as problem:
        raise UserError(f"{' '.join(given)}: {one_line(problem)}") from None
    assert isinstance(plain, dict)
    return cast("Part[Any]", {str(key): value for key, value in plain.items()})
