"""Edits that the tables of move.py cannot do: exact texts, which fail loudly if they are missing."""

from __future__ import annotations

import re
import shutil
from pathlib import Path


def squeeze(text: str) -> str:
    return re.sub(r"[\s,()]+", "", text)


class Patcher:
    """Replaces texts in files of a tree; what has been replaced already is left."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.problems: list[str] = []

    def replace(self, file: str, old: str, new: str, *, count: int = -1) -> None:
        path = self.tree / file
        if not path.is_file():
            self.problems.append(f"{file}: no such file")
            return
        text = path.read_text(encoding="utf-8")
        if new and new in text and (old not in text or old in new):
            return
        if not new and old not in text:
            return
        if new and old not in text and squeeze(new) in squeeze(text):  # ruff has formatted it since
            return
        if old not in text:
            self.problems.append(f"{file}: not there: {old[:90]!r}")
            return
        path.write_text(text.replace(old, new, count), encoding="utf-8")

    def sub(self, file: str, pattern: str, new: str, *, needed: bool = True) -> None:
        path = self.tree / file
        text = path.read_text(encoding="utf-8")
        made, hits = re.subn(pattern, new, text, flags=re.MULTILINE)
        if hits:
            path.write_text(made, encoding="utf-8")
        elif needed and not re.search(re.escape(new.replace("\\1", "").replace("\\2", ""))[:40], text):
            self.problems.append(f"{file}: not there: /{pattern[:90]}/")

    def everywhere(self, pattern: str, new: str, *folders: str, suffix: str = ".py") -> None:
        rule = re.compile(pattern)
        for folder in folders:
            for path in sorted((self.tree / folder).rglob(f"*{suffix}")):
                text = path.read_text(encoding="utf-8")
                made = rule.sub(new, text)
                if made != text:
                    path.write_text(made, encoding="utf-8")


def apply(tree: Path, files: Path, registry: bool) -> None:
    p = Patcher(tree)
    copy_files(tree, files)
    lists_of_packages(p)
    packaging(p)
    published(p)
    lines_too_long(p)
    one_truth(p)
    house_rules(p, registry)
    documents(p)
    architecture(p)
    if registry:
        command_registry(p)
    if p.problems:
        print("PATCHES THAT DO NOT FIT:\n  " + "\n  ".join(p.problems))


def copy_files(tree: Path, files: Path) -> None:
    """READMEs of the rooms, and the copy of the protocol that `reference.json` names."""
    for path in sorted(files.rglob("*")):
        if path.is_file():
            to = tree / path.relative_to(files)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)
    shutil.copyfile(tree / "docs/study/protocol.md", tree / "studies/published/protocol.md")


def lists_of_packages(p: Patcher) -> None:
    """`metamorphic` in lists of top-level packages is `studies`."""
    p.everywhere(
        r'"analysis", "metamorphic"', '"analysis", "studies"', "tests", "crucible", "harness"
    )
    for file in ("test_wheel.py", "wheel.py"):
        p.replace(f"tests/{file}", '"metamorphic"', '"studies"')
    p.replace(
        "tests/wheel.py",
        'shutil.ignore_patterns("__pycache__")',
        'shutil.ignore_patterns("__pycache__", "published")  # data of studies: not in the wheel',
    )
    p.replace(
        "tests/test_wheel.py",
        'if file.is_file() and "__pycache__" not in file.parts',
        'if file.is_file() and not {"__pycache__", "published"} & set(file.parts)',
    )
    p.sub("Makefile", r"\bharness metamorphic tests\b", "harness studies tools tests")
    p.replace(
        "harness/common/installation.py",
        "The folder that `harness`, `agents`, `analysis` and `crucible` are in.",
        "The folder that `harness`, `agents`, `analysis`, `studies` and `crucible` are in.",
    )


def packaging(p: Patcher) -> None:
    p.replace(
        "pyproject.toml",
        'include = ["harness*", "agents*", "analysis*", "metamorphic*", "crucible*"]',
        'include = ["harness*", "agents*", "analysis*", "studies*", "crucible*"]\n'
        'exclude = ["studies.published*"] # 43 MB of data',
    )
    p.replace("pyproject.toml", '"*" = ["py.typed"]', '"*" = ["py.typed", "README.md"]')
    p.replace("pyproject.toml", '"harness.fidelity" = ["data/*"]\n', "")
    p.replace("pyproject.toml", '"tools.fidelity" = ["data/*"]\n', "")
    p.replace(
        "pyproject.toml", '"metamorphic" = ["data/*"]', '"studies.metamorphic.geometry" = ["data/*"]'
    )
    p.sub(
        "pyproject.toml",
        r'^files = \["harness", "agents", "analysis", "metamorphic", "crucible", "tests", "run_campaign.py", "docs/study"\]$',
        'files = ["harness", "agents", "analysis", "studies", "tools", "crucible", "tests", "run_campaign.py"]',
    )


def published(p: Patcher) -> None:
    """The published studies' data and scripts."""
    for name in ("ages", "cells", "tables"):
        p.sub(
            f"studies/published/{name}.py",
            r"^from (ages|cells) import",
            r"from studies.published.\1 import",
            needed=False,
        )
    drive = "studies/published/drive"
    p.replace(
        drive,
        'STUDY=$(cd "$(dirname "$0")" && pwd)\n',
        'STUDY=$(cd "$(dirname "$0")" && pwd)\nTEXTS=$(cd "$STUDY/../../docs/study" && pwd)\n',
    )
    p.replace(
        drive,
        'cd "$STUDY/../.."; STUDY=docs/study; }',
        'cd "$STUDY/../.."; STUDY=studies/published TEXTS=docs/study; }',
    )
    p.replace(drive, '"protocol=$STUDY/protocol.md"', '"protocol=$TEXTS/protocol.md"')
    p.replace(
        "studies/published/analyse",
        '#     studies/published/analyse OUT\n#\n# The comparisons are those of protocol.md,',
        '#     studies/published/analyse OUT\n#\n# The comparisons are those of docs/study/protocol.md,',
    )
    parts = "docs/study/parts.md"
    for old, new in (
        ("(../protocol.md)", "(protocol.md)"),
        ("(../deviations.md)", "(deviations.md)"),
        ("(../results.md)", "(results.md)"),
        ("(../../how-to/verify.md)", "(../how-to/verify.md)"),
    ):
        p.replace(parts, old, new)
    for page in ("docs/study/deviations.md", "docs/study/results.md"):
        p.replace(page, "(parts/README.md)", "(parts.md)")
    for page in ("docs/how-to/campaigns.md", "docs/how-to/verify.md"):
        p.replace(page, "study/parts/README.md", "study/parts.md")
    p.replace("mkdocs.yml", "study/parts/README.md", "study/parts.md")
    for page in ("studies/published/tables.py", "docs/study/tables.md"):
        p.replace(
            page,
            "Pairs are attempts of equal route and seed;\nintervals",
            "Pairs are of equal route and seed;\nintervals",
        )
    test = "tests/docs/test_study.py"
    p.replace(
        test,
        'STUDY = Path("docs/study")\n',
        'STUDY = Path("studies/published")\nPAGES = Path("docs/study")\n',
    )
    p.replace(
        test, 'listed = (STUDY / "parts" / "README.md").read_text()', 'listed = (PAGES / "parts.md").read_text()'
    )
    p.replace(
        test,
        "def test_the_reference_says_how_far_placebos_agree() -> None:",
        "def test_the_protocol_next_to_the_reference_is_the_page() -> None:\n"
        '    """A reference names files in its folder only, and a protocol keeps every byte."""\n'
        '    file = json.loads((STUDY / "reference.json").read_text(encoding="utf-8"))["protocol"]["file"]\n'
        "    assert (STUDY / file).read_bytes() == (PAGES / file).read_bytes()\n\n\n"
        "def test_the_reference_says_how_far_placebos_agree() -> None:",
    )


def lines_too_long(p: Patcher) -> None:
    p.replace(
        "agents/perception/suppression.py",
        "computed in the same order, to the\nlast bit where",
        "computed in the same order, to\nthe last bit where",
    )
    p.replace(
        "studies/metamorphic/geometry/deletion.py",
        "`studies.metamorphic.geometry.shadows` fills in; all that does not come from another agent's points is made up.",
        "`studies.metamorphic.geometry.shadows` fills in; all that does not come from another agent's\npoints is made up.",
    )
    p.replace(
        "studies/metamorphic/scenes/operator.py",
        "What answer to expect is a matter of relations (`studies.metamorphic.relations`); an operator only says what\nit did to the ground truth.",
        "What answer to expect is a matter of relations (`studies.metamorphic.relations`); an operator only\nsays what it did to the ground truth.",
    )
    p.replace(
        "studies/metamorphic/relations/relation.py",
        "(`studies.metamorphic.judging.bands`). Of the scenes' boxes it is given those alone that an operator changed on\npurpose, as the papers' relations are: CP[s] with the inserted, without the deleted (V2XGen 3.4).",
        "(`studies.metamorphic.judging.bands`). Of the scenes' boxes it is given those alone that an\noperator changed on purpose, as the papers' relations are: CP[s] with the inserted, without the\ndeleted (V2XGen 3.4).",
    )
    p.replace(
        "tools/authoring/shapes.py",
        "`python -m tools.authoring.shapes OUT`; the shipped file is `studies/metamorphic/geometry/data/shapes.npz`.",
        "`python -m tools.authoring.shapes OUT`; the shipped file is `shapes.npz` in\n`studies/metamorphic/geometry/data`.",
    )
    p.replace(
        "tools/authoring/shapes.py",
        'Path(__file__).parents[2] / "metamorphic" / "data" / "shapes.npz"',
        'Path(__file__).parents[2] / "studies/metamorphic/geometry/data/shapes.npz"',
    )
    p.replace(
        "docs/explanation/decisions.md" if (p.tree / "docs/explanation/decisions.md").is_file() else "CHANGELOG.md",
        "They are `harness/authoring` now",
        "They are `harness/authoring` and `tools/authoring` now",
    ) if (p.tree / "docs/explanation/decisions.md").is_file() else None


def one_truth(p: Patcher) -> None:
    """Constants that stood in two files, and a unit that had another's name."""
    p.everywhere(r"\bNOT_OF_THE_RESULT\b", "IRRELEVANT_SETTINGS", "harness", "studies", "tests", "crucible")
    listing = (
        r'^%s = [({]\n(?:    "\w+",\n)+[)}]\n(?:"""Settings that do not change results\."""\n)?'
        % "IRRELEVANT_SETTINGS"
    )
    for file in ("harness/campaign/settings/config.py", "analysis/collection.py"):
        p.sub(file, listing, "", needed=False)
        text = (p.tree / file).read_text()
        if "import IRRELEVANT_SETTINGS" not in text:
            p.sub(
                file,
                r"\A((?:.|\n)*?)^(from (?:harness|analysis)\b)",
                r"\1from harness.types.record_names import IRRELEVANT_SETTINGS\n\2",
            )
    for path in [*(p.tree / "harness").rglob("*.py"), *(p.tree / "studies").rglob("*.py"),
                 *(p.tree / "analysis").rglob("*.py"), *(p.tree / "tests").rglob("*.py")]:
        text = path.read_text()
        made = text
        for module in ("harness.campaign.settings.config", "analysis.collection"):
            made = re.sub(
                rf"^from {re.escape(module)} import (.*\b)?IRRELEVANT_SETTINGS(?:, )?(.*)$",
                lambda hit: (
                    "from harness.types.record_names import IRRELEVANT_SETTINGS\n"
                    + (
                        f"from {module} import {rest}"
                        if (rest := ((hit[1] or "") + hit[2]).strip().strip(","))
                        else ""
                    )
                ),
                made,
                flags=re.MULTILINE,
            )
        if made != text:
            path.write_text(made)
    names = "harness/types/record_names.py"
    if "IRRELEVANT_SETTINGS" not in (p.tree / names).read_text():
        with (p.tree / names).open("a") as file:
            file.write(
                '\nIRRELEVANT_SETTINGS = (\n    "out",\n    "protocol",\n    "dry_run",\n'
                '    "executor",\n    "progress",\n    "export",\n    "live",\n'
                '    "attempts_per_route",\n    "attempt_timeout",\n    "retry_failed",\n)\n'
                '"""Settings that do not change results: digests and comparisons leave them out."""\n'
            )
    p.replace(
        "tests/campaign/test_live.py",
        '    assert {"live", *IRRELEVANT_SETTINGS} == IRRELEVANT_SETTINGS\n',
        "",
    )
    folders = ("harness", "analysis", "studies", "tests")
    p.everywhere(r"\bMICRO\b", "YAW_UNIT", *folders)
    p.everywhere(r"\bMILLI\b", "POSITION_UNIT", *folders)


def house_rules(p: Patcher, registry: bool) -> None:
    test = "tests/test_house.py"
    r = lambda old, new: p.replace(test, old, new)
    r('FIDELITY = ROOT / "harness" / "fidelity"\n', 'TOOLS = ROOT / "tools"\nPUBLISHED = ROOT / "studies" / "published"\n')
    r(
        'HOUSES = ("harness", "agents", "analysis", "studies", "crucible")',
        'HOUSES = ("harness", "agents", "analysis", "studies", "crucible", "tools")',
    )
    p.sub(test, r'^GROUND = \{\n(?:    "\w+",\n)+\}\n', 'GROUND = {"common", "types"}\n')
    r(
        'COMMON_GROUND = tuple(f"harness.{name}" for name in sorted(GROUND))',
        'COMMON_GROUND = tuple(f"harness.{name}." for name in sorted(GROUND))',
    )
    r(
        '"""From the bottom to the top: each may import itself and those before it, so there is no circle."""\n',
        '"""From the bottom to the top: each may import itself and those before it, so there is no circle."""\n'
        "STUDIES = {\n"
        '    "space": set[str](),\n'
        '    "attribution": set[str](),\n'
        '    "critical": set[str](),\n'
        '    "interventions": set[str](),\n'
        '    "metamorphic": {"space"},\n'
        '    "search": {"space", "attribution"},\n'
        '    "rates": {"space", "search"},\n'
        "}\n"
        '"""Which studies each study may import, besides itself."""\n'
        'SHOWN = ("studies.attribution.", "studies.interventions.")\n'
        '"""Studies whose tables the commands and the report of `analysis` show."""\n',
    )
    r("def test_nothing_but_authoring_and_fidelity_imports_carlite(", "def test_nothing_but_authoring_and_tools_imports_carlite(")
    r("if not {CARLITE, AUTHORING, FIDELITY} & set(path.parents)", "if not {CARLITE, AUTHORING} & set(path.parents)")
    r("def test_authoring_imports_carlite_alone_and_commands_alone_import_it(", "def test_authoring_imports_carlite_alone_and_commands_and_tools_import_it(")
    r(
        "        may_import = inside or COMMANDS in path.parents\n",
        "        may_import = inside or {COMMANDS, TOOLS} & set(path.parents)\n",
    )
    r(
        'assert name.startswith("harness.authoring") <= may_import, where',
        'assert name.startswith("harness.authoring") <= bool(may_import), where',
    )
    r("def test_fidelity_imports_carlite_alone_and_nothing_imports_it(", "def test_tools_import_carlite_and_authoring_and_nothing_imports_them(")
    r("            inside = FIDELITY in path.parents\n", "            inside = TOOLS in path.parents\n")
    r(
        'assert name.startswith("tools.fidelity") <= inside, where',
        'assert name.startswith("tools.") <= inside, where',
    )
    r(
        'assert name.startswith(("tools.fidelity", "harness.carlite")), where',
        'assert name.startswith(("tools", "harness.authoring", "harness.carlite")), where',
    )
    r(
        '            if top == "harness":\n                assert name.startswith(allowed), f"{path.relative_to(ROOT)} imports {name}"\n',
        '            where = f"{path.relative_to(ROOT)} imports {name}"\n'
        '            if top == "harness":\n                assert name.startswith(allowed), where\n'
        '            if top == "studies":\n'
        '                assert path.relative_to(ROOT).parts[1] in {"commands", "report"}, where\n'
        "                assert name.startswith(SHOWN), where\n",
    )
    start = "def test_metamorphic_asks_systems_by_name_and_nothing_imports_it() -> None:"
    path = p.tree / test
    text = path.read_text()
    if start in text:
        head, _, rest = text.partition(start)
        _, _, tail = rest.partition("\n\n\n")
        path.write_text(head + STUDIES_TESTS + "\n\n\n" + tail)
    elif "def test_studies_ask_systems_by_name" not in text:
        p.problems.append(f"{test}: no test of metamorphic")
    r('for folder in ("harness", "analysis", "tests")\n', 'for folder in ("harness", "analysis", "studies", "tools", "tests")\n')
    r(
        '        for path in (ROOT / folder).rglob("*.py"):\n            assert not [name for name in imports(path) if name.split(".")[0] == "crucible"], path\n',
        '        for path in (ROOT / folder).rglob("*.py"):\n'
        "            if PUBLISHED not in path.parents:  # scripts, which run commands\n"
        '                assert not [name for name in imports(path) if name.split(".")[0] == "crucible"], path\n',
    )
    effects = "studies.interventions" if registry else "analysis.commands"
    r(
        '@pytest.mark.parametrize("command", ["compare", "tables", "effects", "report", "critical"])\n'
        "def test_commands_of_analysis_start_without_what_few_of_them_need(command: str) -> None:",
        "@pytest.mark.parametrize(\n"
        '    "module",\n    [\n        *(f"analysis.commands.{name}" for name in ("compare", "tables", "report")),\n'
        f'        "{effects}.effects",\n        "studies.critical.printing",\n    ],\n)\n'
        "def test_commands_of_analysis_start_without_what_few_of_them_need(module: str) -> None:",
    )
    r(
        'code = f"import sys, analysis.commands.{command}; print(sorted({slow} & set(sys.modules)))"',
        'code = f"import sys, {module}; print(sorted({slow} & set(sys.modules)))"',
    )
    r(
        'for room in ("harness", "agents", "analysis", "studies", "crucible", "tests")\n        for path in (ROOT / room).rglob("*.py")\n        for name, count',
        'for room in (*HOUSES, "tests")\n        for path in (ROOT / room).rglob("*.py")\n        for name, count',
    )
    p.replace(
        "tests/test_words.py",
        'ROOMS = ("harness", "agents", "analysis", "studies", "crucible", "tests")',
        'ROOMS = ("harness", "agents", "analysis", "studies", "tools", "crucible", "tests")',
    )


STUDIES_TESTS = '''@pytest.mark.parametrize("study", sorted(STUDIES))
def test_studies_ask_systems_by_name(study: str) -> None:
    """A study imports what is below campaigns' commands, and only the studies that it builds on."""
    rooms = ("world", "channel", "evaluation", "records", "campaign")
    allowed = (*(f"harness.{room}." for room in rooms), *COMMON_GROUND, "analysis.")
    allowed += tuple(f"studies.{name}" for name in {study, *STUDIES[study]})
    folder = ROOT / "studies"
    paths = list((folder / study).rglob("*.py")) or [folder / f"{study}.py"]
    for path in paths:
        ours = [name for name in imports(path) if name.split(".")[0] in {*HOUSES, "torch"}]
        wrong = [name for name in ours if not f"{name}.".startswith(allowed)]
        assert not wrong, f"{path.relative_to(ROOT)} imports {wrong}"


@pytest.mark.parametrize("study", ["metamorphic", "search"])
def test_studies_without_campaigns_tables_share_drawing_and_statistics_alone(study: str) -> None:
    shared = r"analysis\\.(drawing|statistics|report\\.(html|script|style))\\b"
    for path in (ROOT / "studies" / study).rglob("*.py"):
        for name in imports(path):
            assert not name.startswith("analysis.") or re.match(shared, name), f"{path}: {name}"


def test_every_study_has_its_rules_and_a_page() -> None:
    folder = ROOT / "studies"
    studies = {path.parent.name for path in folder.glob("*/README.md")}
    assert studies == {*STUDIES, "published"} - {"space"}
    assert {path.stem for path in folder.glob("*.py")} == {"__init__", "space"}


def test_nothing_below_studies_imports_them() -> None:
    for room in ("harness", "agents", "tools"):
        for path in (ROOT / room).rglob("*.py"):
            assert not [name for name in imports(path) if name.split(".")[0] == "studies"], path


def test_types_import_nothing_of_the_house() -> None:
    for path in (ROOT / "harness" / "types").rglob("*.py"):
        ours = [name for name in imports(path) if name.split(".")[0] in HOUSES]
        assert all(name.startswith("harness.types.") for name in ours), path'''


def documents(p: Patcher) -> None:
    p.replace(
        "CONTRIBUTING.md",
        "git clone REPOSITORY crucible && cd crucible\n",
        "git clone --filter=blob:none REPOSITORY crucible && cd crucible  # data of studies when they are read\n",
    )
    p.replace(
        "CHANGELOG.md",
        "- Studies in `docs/study`, with their protocols and what was driven.\n",
        "- Studies in `docs/study`, with their protocols; what was driven is in `studies/published`.\n"
        "- One folder for each question beyond a campaign: `studies/`; `python -m metamorphic` is\n"
        "  `python -m studies.metamorphic`. `harness.errors`, `harness.vocabulary` and the other modules directly in\n"
        "  `harness` are in `harness.common` and `harness.types`. What authors of towns need is in `tools/`.\n",
    )
    p.replace(
        "CHANGELOG.md",
        "- `python -m harness.carlite.towns` is `python -m harness.authoring`;",
        "- `python -m harness.carlite.towns` is `python -m tools.authoring`;",
    )
    p.replace(
        "docs/reference/towns.md", "`harness/authoring` works", "`harness/authoring` works"
    )


def command_registry(p: Patcher) -> None:
    """Folders of commands of the studies."""
    places = ("harness/common/command_registry.py", "harness/command_registry.py")
    file = next(name for name in places if (p.tree / name).is_file())
    text = (p.tree / file).read_text()
    if "studies.critical" not in text:
        p.sub(
            file,
            r'^    "(?:studies\.)?metamorphic\.commands",\n',
            '    "studies.attribution",\n    "studies.critical",\n    "studies.interventions",\n'
            '    "studies.rates",\n    "studies.metamorphic.commands",\n',
        )
        p.replace(file, '"metamorphic.search.commands"', '"studies.search.commands"')
    running = file.replace("command_registry", "command_running")
    for old, new in (
        (
            "def run_package_command(package: str, arguments: Sequence[str] | None, program: str) -> int:\n"
            '    """Run a subcommand of one package, as `python -m analysis` does; None: the process\'s words."""\n',
            "def run_package_command(\n"
            "    package: str,\n    arguments: Sequence[str] | None,\n    program: str,\n    *,\n"
            "    studies: tuple[str, ...] = (),\n) -> int:\n"
            '    """Run a subcommand of one package, as `python -m analysis` does; None: the process\'s words.\n\n'
            "    Args:\n"
            "        package: the folder that its subcommands are in.\n"
            "        arguments: the subcommand's name and its words.\n"
            "        program: how the command line begins.\n"
            "        studies: folders of studies whose subcommands belong to it too.\n"
            '    """\n'
            "    packages = (package, *studies)\n",
        ),
        ("list_subcommands((package,)))}", "list_subcommands(packages))}"),
        ("find_subcommand(name, (package,))", "find_subcommand(name, packages)"),
        ("describe_unknown_subcommand(name, package)}", "describe_unknown_subcommand(name, *packages)}"),
    ):
        p.replace(running, old, new)
    for house, study in (("analysis", "interventions"), ("harness", "attribution")):
        p.replace(
            f"{house}/__main__.py",
            f'run_package_command("{house}.commands", arguments, program)',
            f'run_package_command(\n        "{house}.commands", arguments, program, studies=("studies.{study}",)\n    )',
        )
    p.replace(
        "tests/test_command_registry.py",
        '"analysis", "agents", "metamorphic")',
        '"analysis", "agents", "studies")',
    )
    p.replace(
        "tests/test_command_registry.py",
        'body = f"\\n\\ndef main(arguments, program):\\n    import harness.common.errors\\n    raise {problem}\\n"\n',
        'head = "\\n\\ndef main(arguments, program):\\n    import harness.common.errors\\n"\n'
        '    body = f"{head}    raise {problem}\\n"\n',
    )
    p.everywhere(r'"metamorphic", "crucible"', '"studies", "crucible"', "harness/common")


STUDIES_ROOMS = """studies/             one folder for each question that goes beyond a campaign: driving, tables, figures, commands
  attribution/       did a disturbance cause this violation? twins, windows, tables
  critical/          sizes of a disturbance at which outcomes flip: driving, shares, strata, figures
  interventions/     repairs and injections in pairs: effects, Shapley shares, doses; models of errors
  search/            searches in closed loop: samplers, driving, ledger, objectives, confirmation, shrinking
  rates/             failure probabilities under sampled disturbances
  metamorphic/       recorded scenes, operators that change them, what must not change in the answers
    scenes/ geometry/            scenes, views, answers; objects into and out of sweeps, by their rays
    operators/ relations/        one class for each change; answers compared    catalogue.py   both by name
    judging/ running/ storage/   rows and verdicts; a study, block by block; its records, packed
    tables/ pages/               tables, report, pictures    drives/ retraining/   pairs of drives; training
  published/         data and scripts of the published studies, outside the wheel
  space.py           parameters with ranges
tools/               for authors of towns, outside the wheel
  authoring/         plans of the shipped towns, pictures of carlite, shapes of road users
  fidelity/          public records of CARLA's cars, driven again with carlite's vehicles and compared
"""
COMMON_ROOMS = """  types/             what the rooms exchange; imports nothing of the house
    vocabulary.py    boxes, poses, observations, messages, routes: frozen, typed, frame-named
    systems.py       what a system must offer    record_names.py   patterns, surrogates, bands
    geometry.py      poses and frames    overlap.py, precision.py   overlap ratio (BEV IoU), average precision
  common/            errors, files, locks, options, child processes, random streams, safe reading, plug-ins
"""
DRAWING = """```
┌───────────────────────────────────────────────────────────────────────┐
│ crucible: the console command                                         │
├────────┬─────────────────────────────────────┬────────────────────────┤
│ agents │ studies                             │ tools                  │
│        ├────────────────────────┬────────────┼───────────┐            │
│        │ commands checks doctor │ analysis   │ authoring │            │
│        ├────────────────────────┤            │           │            │
│        │ campaign               │            │           │            │
│        ├─────────────────┬──────┴────────────┼───────────┴────────────┤
│        │ world           │ records evaluation│ carlite,               │
│        │ channel         │ viewing           │ a process of its own   │
├────────┴─────────────────┴───────────────────┤                        │
│ harness/common, harness/types                │                        │
└──────────────────────────────────────────────┴────────────────────────┘
```
"""
COUNTS = """
| modules | before | now |
|---|---|---|
| directly in `harness/` | 30 | 0, but for `__main__` |
| `harness/` | 482 | 465 |
| `analysis/` | 114 | 93 |
| `crucible/` | 28 | 26 |
| `metamorphic/` | 96, of which 37 loose | 0 |
| `studies/` | 0 | 120 |
| `tools/` | 0 | 16 |
| rooms of the question "critical sizes" | 6 | 1; its record and sized twins stay below |

`harness/records/critical.py` and `harness/campaign/twins/resized.py` stay below `studies/`: packing and
`CampaignTwins` need them. `analysis.commands` and `analysis.report` may import the tables of
`studies.attribution` and `studies.interventions`, which they show; nothing else below imports `studies`.
"""


def architecture(p: Patcher) -> None:
    """The list of rooms, and the drawing of what may import what."""
    path = p.tree / "docs/ARCHITECTURE.md"
    text = path.read_text(encoding="utf-8")
    if "studies/             one folder" in text:
        return
    rules = (
        (r"cases\.py, attribution\.py   violations, their twins", "cases.py   violations"),
        (r"^  effects/  .*\n", ""),
        (r"^  critical/  .*\n", ""),
        (r"^  vocabulary\.py  .*\n(?:  \S+\.py.*\n)+", COMMON_ROOMS),
        (
            r"changed disturbance; attribution; critical sizes; differing records",
            "changed disturbance, or one of a size; differing records",
        ),
        (r"imported by `authoring` and `fidelity` only", "imported by `authoring` and `tools` only"),
        (r"^  fidelity/ .*\n(?=  authoring/)", ""),
        (
            r"the plans of our own towns, the OpenDRIVE that they become; pictures of carlite",
            "OpenDRIVE from plans of towns, and checks of it",
        ),
        (r"```\n┌(?:.*\n)+?```\n", DRAWING),
        (
            r"`metamorphic/commands`, `studies/search/commands`\)",
            "the folders of `studies/`)",
        ),
        (
            r"The common ground are the files directly in `harness/`\.",
            "The common ground are `harness/common` and `harness/types`.",
        ),
        (r"Nothing but `authoring` and `fidelity` imports", "Nothing but `authoring` and `tools` imports"),
        (r"^metamorphic/ .*\n(?:  .*\n)+", STUDIES_ROOMS),
        (r"`tests/test_house\.py` checks these dependencies\.\n", "`tests/test_house.py` checks these dependencies.\n" + COUNTS),
    )
    for pattern, new in rules:
        text, hits = re.subn(pattern, lambda _, new=new: new, text, count=1, flags=re.MULTILINE)
        if not hits and "search/commands" not in pattern:
            p.problems.append(f"docs/ARCHITECTURE.md: not there: /{pattern[:60]}/")
    path.write_text(text, encoding="utf-8")
