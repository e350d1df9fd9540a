"""`crucible run`: composes a configuration from files and settings, and runs the campaign."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import get_type_hints

from omegaconf import Container, DictConfig, OmegaConf

from harness.campaign.run import BAD_INPUT, SOME_FAILED, run_campaign_config
from harness.campaign.settings.annotated import annotate_settings
from harness.campaign.settings.composing import compose_config
from harness.campaign.settings.composition import explain_composition_error
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.resolvers import pure_resolvers
from harness.campaign.settings.sweep_sizes import SWEEP
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.installation import CONF
from harness.common.options import OneLineParser, move_options_first
from harness.common.terminal_lines import break_for_stream, print_notice, print_problem
from harness.records.arms import NONE

COMMAND = CommandDeclaration(
    group="Campaigns",
    rank=10,
    purpose="run or resume a campaign: group=choice and setting=value",
    extra="run",
    examples=(
        "crucible run",
        "crucible run study=demo executor.workers=2 out=runs/demo",
        "crucible run 'system=[late,fcooper]' interference=latency routes=crucible05",
        "crucible run system=oracle dry_run=true",
        "crucible run --config-dir mine system=my_system",
        "crucible run --cfg job",
    ),
)


SWEEPS = ("-m", "--multirun")
CONDITIONS = "interference"
WITH_VALUE = ("--config-dir", "-cd", "--cfg", "-c", "--package", "-p", "--info", "-i")
"""Options whose value is the next word."""
LONG = 2000
"""Characters of settings that Hydra parses for seconds."""
GROUPS_FIRST = "configuration groups, chosen by group=choice:"
SETTINGS_NEXT = "settings, set by name=value:"


def build_run_parser(program: str) -> OneLineParser:
    """Return the parser of what is no setting."""
    parser = OneLineParser(prog=program, description=__doc__, add_help=False, allow_abbrev=False)
    add = parser.add_argument
    add("overrides", nargs="*", default=[], metavar="SETTING", help="group=choice or name=value")
    add("--help", "-h", action="store_true", help="print this help, all groups and all settings")
    add(
        "--config-dir",
        "-cd",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="folder of your own files, DIR/<group>/<choice>.yaml, read before the shipped files;"
        " may be repeated (default: none)",
    )
    add(
        "--trust",
        action="store_true",
        help=(
            "build all classes that files of DIR name (default: only classes that declare"
            " safe_from_file)"
        ),
    )
    add(
        "--cfg",
        "-c",
        choices=["job"],
        help="print the settings with their meaning; run nothing (default: run)",
    )
    add(
        "--resolve",
        action="store_true",
        help="with --cfg: replace interpolations by their values (default: as written)",
    )
    add(
        "--package",
        "-p",
        metavar="NAME",
        help="with --cfg: print one part, such as traffic (default: all)",
    )
    add(
        "--info",
        "-i",
        choices=["searchpath"],
        help="print where files are searched for; run nothing (default: run)",
    )
    return parser


def refuse_settings_with_dashes(arguments: Sequence[str], parser: OneLineParser) -> None:
    """Refuse what no campaign has: several runs, and settings that are written as options."""
    if any(word in SWEEPS for word in arguments):
        raise UserError(
            "no multirun: a campaign takes lists of systems, conditions and seeds,"
            " and sizes of disturbances: sweep.latency=[0,0.2,0.5]"
        )
    known = {name for action in parser._actions for name in action.option_strings}
    for word in arguments:
        name = word.partition("=")[0]
        close = get_close_matches(
            name.strip("-").replace("-", "_"), get_type_hints(CampaignSettings), n=1
        )
        if word.startswith("-") and name not in known and close:
            raise UserError(f"unknown option {word}; did you mean {close[0]}=...?")


def insert_none_condition(arguments: list[str]) -> list[str]:
    """Return the words with `interference=none` before a sweep, unless they choose conditions."""
    keys = [word.partition("=")[0].lstrip("+~") for word in arguments]
    swept = [number for number, key in enumerate(keys) if key.partition(".")[0] == SWEEP]
    if not swept or any(key.partition(".")[0] == CONDITIONS for key in keys):
        return arguments
    return [*arguments[: swept[0]], f"{CONDITIONS}={NONE}", *arguments[swept[0] :]]


def render_run_settings(config: DictConfig, package: str | None, *, resolve: bool) -> str:
    """Return the settings, or one part of them, as YAML with what every setting means."""
    part = OmegaConf.select(config, package) if package else config
    if part is None:
        raise UserError(f"--package {package}: not in the configuration")
    with pure_resolvers():
        if isinstance(part, Container):
            return annotate_settings(OmegaConf.to_yaml(part, resolve=resolve))
    return str(part)


def render_run_help(parser: OneLineParser, folders: Sequence[Path]) -> str:
    """Return what is no setting, the choices of every group, and every setting."""
    everywhere = [*folders, CONF]
    groups = sorted({one.name for folder in everywhere for one in folder.iterdir() if one.is_dir()})
    lines = [parser.format_help(), GROUPS_FIRST]
    for group in groups:
        choices = {file.stem for folder in everywhere for file in folder.glob(f"{group}/*.yaml")}
        if choices:
            lines.append(f"{group}: {', '.join(sorted(choices))}")
    return "\n".join([*lines, "", SETTINGS_NEXT])


def render_run_output(
    options: argparse.Namespace, config: DictConfig, parser: OneLineParser
) -> str:
    """Return what is printed instead of a campaign, nothing if the campaign is to run."""
    if options.help:
        return (
            f"{render_run_help(parser, options.config_dir)}\n"
            f"{render_run_settings(config, None, resolve=False)}"
        )
    if options.info:
        return "\n".join(str(folder.absolute()) for folder in (*options.config_dir, CONF))
    if options.cfg:
        return render_run_settings(config, options.package, resolve=options.resolve)
    return ""


def main(arguments: list[str], program: str = "crucible run") -> int:
    """Run, and answer what cannot be composed with one line and exit code 2."""
    parser = build_run_parser(program)
    overrides, folders = list[str](), list[Path]()
    # what only prints needs no campaign; a refusal is one line
    try:
        refuse_settings_with_dashes(arguments, parser)
        options = parser.parse_args(move_options_first(arguments, WITH_VALUE))
        overrides, folders = insert_none_condition(options.overrides), options.config_dir
        if (length := sum(map(len, overrides))) > LONG:
            print_notice(f"{program}: reading {length:,} characters of settings ...")
        config = compose_config(overrides, folders, trust=options.trust)
        text = render_run_output(options, config, parser)
    except Exception as problem:  # Hydra and OmegaConf have no common one
        print_problem(f"{program}: {explain_composition_error(problem, overrides, folders)}")
        return BAD_INPUT
    if text:
        print(break_for_stream(text, sys.stdout) if options.help else text)
        if options.help:
            sys.exit(0)
        return 0
    # run
    try:
        return run_campaign_config(config)
    except Exception:  # not foreseen: the traceback says where
        traceback.print_exc()
        return SOME_FAILED
