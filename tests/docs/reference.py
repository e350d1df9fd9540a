"""The pages that are made from code: `python -m tests.docs.reference` writes them.

`commands.md` is what every subcommand prints with `--help`; `settings.md` is what the files of
`conf` say, and what the class of each `_target_` says and accepts besides; `contract.md` is what
`harness/carlite/contract.json` says of the members of CARLA's client library. The tutorial
`notebook.md` is `notebook.ipynb` with its outputs.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml

from crucible.subcommands import dispatch_subcommand
from harness.campaign.settings.annotated import collect_notes_by_place
from harness.campaign.settings.declared import CampaignSettings
from harness.common.command_registry import group_subcommands, list_subcommands
from harness.common.field_notes import read_class_comments
from harness.world.hazards.catalogue import SHIPPED_KINDS
from harness.world.hazards.parameters import Parameter
from tests.docs.contract import contract_page
from tests.docs.notebook import notebook_files

ROOT = Path(__file__).parents[2]
CONF = ROOT / "conf"
PAGES = ROOT / "docs" / "reference"
NOTEBOOK = ROOT / "docs" / "tutorials" / "notebook.ipynb"
COLUMNS = "100"
LINE = re.compile(r"(?P<indent> *(?:- )?)(?P<key>[\w.]+):(?: (?P<value>.*?))?(?: *# (?P<note>.*))?")
NESTED = re.compile(r"^  \{(.+)\}$", re.MULTILINE)
GIVEN_BY_CAMPAIGNS = ("disturbances", "tick_seconds", "window")
"""Parameters of the channel that no file sets."""
GROUP_NOTES = {
    "study": "Definitions: seeds, driving rules, scores, patterns, windows, the channel.",
    "simulator": "carlite, or CARLA running or launched ([how-to](../how-to/simulators.md)).",
    "routes": "Route and hazard files ([how-to](../how-to/routes.md)).",
    "system": "Systems under test; one or several ([your own](../how-to/own-system.md)).",
    "cooperation": "Partners; one or several ([world](../explanation/world.md#partners)).",
    "interference": (
        "Disturbances of messages, changes of the scene; one or several"
        " ([interference](interference.md), [scene](../how-to/scene-changes.md))."
    ),
    "intervention": (
        "Repairs of errors, or injections of errors; none, one or several"
        " ([how-to](../how-to/interventions.md))."
    ),
    "driver": (
        "Who drives by the boxes; one or several ([drivers](../how-to/drivers.md)); without a"
        " name in records where it is `default`."
    ),
    "link": (
        "Radio between partners and ego; one or several ([radio](../explanation/radio.md)); without"
        " a name in records where it is `ideal`."
    ),
    "message_format": (
        "How messages are written as bytes; one or several"
        " ([messages](../explanation/messages.md)); without a name in records where it is `native`."
    ),
    "attack": (
        "Partners that lie; one or several ([attacks](../how-to/attacks.md)); without a name in"
        " records where it is `none`."
    ),
    "defence": (
        "What judges messages before fusion; one or several ([defences](../how-to/attacks.md));"
        " without a name in records where it is `none`."
    ),
    "compensate": (
        "What makes up for the age of messages; one or several"
        " ([compensation](../explanation/compensation.md)); without a name in records where it is"
        " `none`."
    ),
    "compute": (
        "How long partners and ego compute; one or several"
        " ([computing time](../explanation/radio.md#computing-time)); without a name in records"
        " where it is `none`."
    ),
    "brakes": (
        "Brakes and tyres of the ego; one or several"
        " ([dynamics](../explanation/dynamics.md#how-hard-the-ego-brakes)); without a name in"
        " records where they are `default`."
    ),
    "traffic": "Background traffic ([world](../explanation/world.md#traffic)).",
    "rig": "LiDARs and cameras of vehicles and roadside units.",
    "metrics": "Further numbers; none, one or several ([your own](../how-to/own-metric.md)).",
    "export": "Results in other tools; none, one or several ([export](../how-to/own-export.md)).",
    "search": "Configurations of `crucible search` ([how-to](../how-to/search.md)).",
    "executor": "Where attempts run ([campaigns](../how-to/campaigns.md#executors)).",
}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One line of a configuration file."""

    path: str
    value: str
    note: str


def help_of(*arguments: str) -> str:
    """Return what a subcommand prints with `--help`."""
    printed = io.StringIO()
    with (
        patch.dict(os.environ, {"COLUMNS": COLUMNS, "NO_COLOR": "1"}),
        contextlib.redirect_stdout(printed),
        contextlib.suppress(SystemExit),
    ):
        dispatch_subcommand([*arguments, "--help"])
    return printed.getvalue().rstrip()


def command_sections(name: str) -> Iterator[str]:
    """Yield the section of one subcommand and those of its own subcommands."""
    text = help_of(name)
    yield f"### crucible {name}\n\n```text\n{text}\n```"
    nested = NESTED.search(text)
    for inner in nested[1].split(",") if nested else []:
        yield f"#### crucible {name} {inner}\n\n```text\n{help_of(name, inner)}\n```"


def commands_page() -> str:
    """Return the page of all subcommands."""
    parts = [
        "# Commands",
        "This page has the output of `--help` of every command.\n"
        "`python -m tests.docs.reference` makes the page, and a test compares.\n"
        "[Settings](settings.md) lists the groups and settings of `crucible run`.",
        f"```text\n{help_of()}\n```",
    ]
    for group, subcommands in group_subcommands(list_subcommands().values()).items():
        parts.append(f"## {group}")
        for subcommand in subcommands:
            if subcommand.name != "run":
                parts += command_sections(subcommand.name)
    return "\n\n".join(parts) + "\n"


def settings_of(text: str) -> Iterator[Setting]:
    """Yield the settings of a configuration file, each with its path and its comment."""
    stack: list[tuple[int, str]] = []
    for line in text.splitlines():
        matched = LINE.fullmatch(line)
        if not matched:
            continue
        depth = len(matched["indent"])
        while stack and stack[-1][0] >= depth:
            stack.pop()
        stack.append((depth, matched["key"]))
        path = ".".join(key for _, key in stack)
        if path.split(".")[0] not in {"defaults", "hydra"} and (
            matched["value"] or matched["note"]
        ):
            yield Setting(path=path, value=matched["value"] or "", note=matched["note"] or "")


def leading_comment(text: str) -> str:
    """Return the comment at the top of a configuration file, as one paragraph."""
    lines = []
    for line in text.splitlines():
        if line.startswith("# @package"):
            continue
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return " ".join(lines)


def class_of(target: str) -> type[Any]:
    """Return the class that a `_target_` names."""
    module, _, name = target.rpartition(".")
    made: type[Any] = getattr(import_module(module), name)
    return made


@cache
def read_notes(target: str) -> dict[str, str]:
    """Return the comments of a class: classes stand in several files, and parsing takes long."""
    return read_class_comments(class_of(target))


def further_parameters(target: str, named: set[str]) -> Iterator[Setting]:
    """Yield the parameters of a class that a configuration file does not name."""
    made = class_of(target)
    for parameter in inspect.signature(made).parameters.values():
        if parameter.name not in {*named, *GIVEN_BY_CAMPAIGNS, "args", "kwargs"}:
            yield Setting(
                path=f"+{parameter.name}",
                value="" if is_made_later(parameter.default) else written(parameter.default),
                note=read_notes(target).get(parameter.name, ""),
            )


def is_made_later(default: object) -> bool:
    """Return whether there is no default, or a dataclass makes it for each object."""
    return default is inspect.Parameter.empty or repr(default) == "<factory>"


def written(value: Any) -> str:
    """Return a default as a configuration file has it."""
    plain_value = list(value) if isinstance(value, tuple) else value
    return yaml.safe_dump(plain_value, default_flow_style=True).removesuffix("...\n").strip()


def cell(text: str) -> str:
    """Return a table's cell."""
    return text.replace("|", "\\|")


def plain(text: str) -> str:
    """Return a table's cell of plain text."""
    return cell(text).replace("<", "&lt;")


def choice_section(file: Path, listed: set[str]) -> str:
    """Return the section of one choice of a group, without what an earlier one has listed."""
    text = file.read_text(encoding="utf-8")
    settings = list(explained(list(settings_of(text)), listed))
    parts = [f"### {file.parent.name}={file.stem}", leading_comment(text)]
    if settings:
        parts.append(table(settings))
    return "\n\n".join(part for part in parts if part)


def table(settings: list[Setting], heading: str = "value") -> str:
    """Return a table of settings."""
    rows = [
        f"| `{setting.path}` | {f'`{cell(setting.value)}`' if setting.value else ''} "
        f"| {plain(setting.note)} |"
        for setting in settings
    ]
    return "\n".join([f"| setting | {heading} | |", "|---|---|---|", *rows])


def explained(settings: list[Setting], listed: set[str]) -> Iterator[Setting]:
    """Yield settings, what they mean taken from their class where the file is silent.

    Behind them come the parameters of classes that the file does not name and that are not listed
    yet.
    """
    for part in by_class(settings):
        prefix, target = part[0].path.removesuffix("_target_"), part[0].value
        notes = read_notes(target) if part[0].path.endswith("_target_") else {}
        for setting in part:
            name = setting.path.removeprefix(prefix)
            yield replace(setting, note=setting.note or notes.get(name, ""))
        named = {setting.path.removeprefix(prefix).split(".")[0] for setting in part}
        for further in further_parameters(target, named) if notes else ():
            if f"{target} {further.path}" not in listed:
                listed.add(f"{target} {further.path}")
                yield replace(further, path=f"+{prefix}{further.path[1:]}")


def by_class(settings: list[Setting]) -> list[list[Setting]]:
    """Return settings in parts: what belongs to a class begins with its `_target_`."""
    parts: list[list[Setting]] = []
    for setting in settings:
        prefix = setting.path.rpartition(".")[0]
        if setting.path.endswith("_target_") or not parts:
            parts.append([setting])
            continue
        places = [part[0].path.removesuffix("_target_").rstrip(".") for part in parts]
        owners = [part for part, place in zip(parts, places, strict=True) if place == prefix]
        (owners or parts)[-1].append(setting)
    return parts


@cache
def settings_page() -> str:
    """Return the page of all groups and settings."""
    notes = collect_notes_by_place(CampaignSettings)
    top = settings_of((CONF / "config.yaml").read_text(encoding="utf-8"))
    parts = [
        "# Settings",
        "This page lists the settings in the files of `conf`, with defaults and comments.\n"
        "`python -m tests.docs.reference` makes the page, and a test compares. Write settings as\n"
        "`name=value` and groups as `group=choice` after `crucible run`. `--cfg job` prints the\n"
        "result. A setting with a `+` is accepted by the class and missing in the file. Such a\n"
        "setting needs the `+` on the command line too: `+name=value`. The page lists such a\n"
        "setting once for a group.",
        "## At the top level",
        table(
            [
                replace(setting, note=setting.note or notes.get(setting.path, ""))
                for setting in top
                if setting.value
            ],
            "default",
        ),
    ]
    for group, note in GROUP_NOTES.items():
        parts += [f"## {group}", note]
        listed = set[str]()
        parts += [choice_section(file, listed) for file in sorted((CONF / group).glob("*.yaml"))]
    return "\n\n".join(parts) + "\n"


BEGIN, END = "<!-- parameters, generated -->", "<!-- end of parameters -->"


def hazards_page() -> str:
    """Return the page of hazards with the table of what their classes declare."""
    page = (PAGES / "hazards.md").read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = [
        f"| `{kind}` | `{name}` | {_default(parameter)} | {parameter.range} | {parameter.meaning} |"
        for kind, named in SHIPPED_KINDS.items()
        for name, parameter in named.parameters.items()
    ]
    head = ["| kind | parameter | default | range | meaning |", "| --- | --- | --- | --- | --- |"]
    return before + "\n".join([BEGIN, "", *head, *rows, "", END]) + after


def _default(parameter: Parameter) -> str:
    value = parameter.default
    return value if isinstance(value, str) else f"{value:g}"


def pages() -> dict[Path, bytes]:
    """Return what the pages and their figures must be."""
    return {
        PAGES / "hazards.md": hazards_page().encode(),
        PAGES / "commands.md": commands_page().encode(),
        PAGES / "settings.md": settings_page().encode(),
        PAGES / "contract.md": contract_page().encode(),
        **notebook_files(NOTEBOOK),
    }


if __name__ == "__main__":
    for path, page in pages().items():
        path.write_bytes(page)
