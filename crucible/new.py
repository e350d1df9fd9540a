"""`crucible new`: a package with a plug-in of yours, its test and its entry point."""

from __future__ import annotations

import argparse
from keyword import iskeyword
from pathlib import Path

from crucible.plugin_templates import TEMPLATES, PluginTemplate
from crucible.study_templates import PROGRAMS, STUDY_FILES
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.terminal_lines import print_stdout_line

COMMAND = CommandDeclaration(
    group="Plug-ins",
    rank=10,
    purpose="write a package with a plug-in of your own, its test and its entry point",
    extra="run",
    examples=(
        "crucible new metric standing",
        "crucible new disturbance near_blind --out packages/near_blind",
    ),
)
STUDY = "study"
PROJECT = """[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "@NAME@"
version = "0.1.0"
description = "@CLASS@, a plug-in of Crucible"
dependencies = ["v2x-crucible"]

[project.entry-points."crucible.plugins"]
@NAME@ = "@NAME@.@MODULE@:@CLASS@"

[tool.setuptools]
packages = ["@NAME@"]
"""
TEST = '''"""What `crucible check` finds in @CLASS@."""

from __future__ import annotations

from crucible.api import check_plugin


def test_no_check_fails() -> None:
    kind, findings = check_plugin("@NAME@.@MODULE@:@CLASS@", @SETTINGS@)
    assert kind == "@KIND@"
    assert findings
    assert [finding for finding in findings if finding.verdict == "failed"] == []
'''
STUDY_TEST = '''"""What `crucible check` finds in the study @NAME@."""

from __future__ import annotations

from pathlib import Path

from crucible.api import check_composed_study

FILE = Path(__file__).parents[1] / "study" / "@NAME@.yaml"


def test_no_check_fails() -> None:
    findings = check_composed_study(str(FILE), [])
    assert findings
    assert [finding for finding in findings if finding.verdict == "failed"] == []
'''
KIND_NAMES = {
    "system": "a system under test",
    "fusion": "a fusion module",
    "metric": "a metric",
    "disturbance": "a disturbance",
    "hazard": "a hazard",
    "scene_change": "a change of the scene",
    "route_source": "a route source",
    "export": "an export",
    "sampler": "a sampler",
}
"""What `crucible check` calls a plug-in of each kind."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible new` takes."""
    add = parser.add_argument
    add("kind", metavar="KIND", choices=TEMPLATES, help=f"kind of plug-in: {', '.join(TEMPLATES)}")
    add("name", metavar="NAME", help="name of the package, in lower case: near_blind")
    add("--out", type=Path, metavar="DIR", help="folder to write to (default: NAME)")
    parser.set_defaults(run=run_new_command)


def run_new_command(options: argparse.Namespace) -> int:
    """Write the files, and print what to do next."""
    refuse_package_name(options.name)
    folder = options.out or Path(options.name)
    files = build_package_files(options.kind, options.name)
    for name in files:
        if (folder / name).exists():
            raise UserError(f"{folder / name}: exists; choose another NAME or --out DIR")
    for name, text in files.items():
        write_whole(folder / name, text)
        if name in PROGRAMS:
            (folder / name).chmod(0o755)
    for line in format_next_steps(options.kind, options.name, folder):
        print_stdout_line(line)
    return 0


def refuse_package_name(name: str) -> None:
    """Refuse what cannot be imported, or is imported from elsewhere."""
    if not name.isidentifier() or iskeyword(name) or name != name.lower() or name.startswith("_"):
        raise UserError(
            f"{name}: a package's name is a lower-case letter, then lower-case letters, digits"
            " and _, and no keyword of Python"
        )
    from importlib.util import find_spec  # noqa: PLC0415 - only here

    if find_spec(name) is not None:
        raise UserError(f"{name}: a package of this name is installed; choose another")


def build_package_files(kind: str, name: str) -> dict[str, str]:
    """Return the files of a package by their paths in it."""
    template = TEMPLATES[kind]
    if kind == STUDY:
        return {
            **{
                path: fill_template(text, template, kind, name)
                for path, text in STUDY_FILES.items()
            },
            f"study/{name}.yaml": fill_template(template.source, template, kind, name),
            f"tests/test_{name}.py": fill_template(STUDY_TEST, template, kind, name),
        }
    return {
        "pyproject.toml": fill_template(PROJECT, template, kind, name),
        f"{name}/__init__.py": "",
        f"{name}/{template.module}.py": fill_template(template.source, template, kind, name),
        f"tests/test_{name}.py": fill_template(TEST, template, kind, name),
    }


def fill_template(text: str, template: PluginTemplate, kind: str, name: str) -> str:
    """Return a text with the names of a package in it."""
    values = {
        "NAME": name,
        "CLASS": "".join(part.capitalize() for part in name.split("_")),
        "MODULE": template.module,
        "KIND": KIND_NAMES.get(kind, kind),
        "SETTINGS": repr(template.settings.split()).replace("'", '"'),
    }
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def format_next_steps(kind: str, name: str, folder: Path) -> list[str]:
    """Return the commands that check, install and use the package."""
    template = TEMPLATES[kind]
    use = fill_template(template.use, template, kind, name)
    checked = f"{name}.{template.module}:@CLASS@ {template.settings}".strip()
    checked = fill_template(checked, template, kind, name)
    if kind == STUDY:
        return [
            f"{folder}: a study; next:",
            f"  cd {folder}",
            f"  crucible check study/{name}.yaml",
            "  write protocol.md, and commit it before the first drive",
            "  ./drive && ./analyse",
        ]
    return [
        f"{folder}: {KIND_NAMES[kind]}; next:",
        f"  cd {folder} && pip install -e .",
        f"  crucible check {checked}",
        f"  {use}",
    ]
