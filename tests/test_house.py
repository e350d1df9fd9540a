"""Cycles of imports, what a process loads, and the habits of the house."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CARLITE = ROOT / "harness" / "carlite"
HOUSES = ("harness", "agents", "analysis", "studies", "crucible", "tools")


@functools.cache
def imports(path: Path) -> tuple[str, ...]:
    """Return the full names of what a module imports, `from a import b` as `a.b`."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names += (f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(names)


AFTER_PYTHON_3_10 = {
    *(f"typing.{name}" for name in ("Self", "NotRequired", "Required", "Never", "LiteralString")),
    *(f"typing.{name}" for name in ("assert_never", "assert_type", "reveal_type", "override")),
    *(f"typing.{name}" for name in ("Unpack", "TypeVarTuple", "dataclass_transform")),
    *("tomllib", "enum.StrEnum", "datetime.UTC", "contextlib.chdir", "itertools.batched"),
}


@pytest.mark.parametrize("house", HOUSES)
def test_nothing_is_imported_that_python_3_10_lacks(house: str) -> None:
    for path in sorted((ROOT / house).rglob("*.py")):
        assert not AFTER_PYTHON_3_10 & set(imports(path)), path


def test_analysis_needs_neither_simulator_nor_network() -> None:
    code = (
        "import sys, pkgutil, importlib, analysis;"
        "[importlib.import_module(each.name)"
        " for each in pkgutil.walk_packages(analysis.__path__, 'analysis.')"
        " if not each.name.endswith('__main__')];"
        "print(sorted({'carla', 'torch', 'hydra', 'numba', 'agents'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_server_process_loads_neither_carla_nor_torch() -> None:
    code = (
        "import sys, harness.carlite.server;"
        "print(sorted({'carla', 'torch', 'matplotlib', 'agents'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_campaign_starts_without_pandas() -> None:
    """It takes half a second of every process that loads it."""
    code = (
        "import sys, crucible.run, harness.campaign.attempt.fork_server;"
        "print(sorted({'pandas', 'scipy', 'torch', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_files_stay_short() -> None:
    assert not {
        str(path.relative_to(ROOT)): lines
        for folder in ("harness", "analysis", "studies", "tools", "tests")
        for path in (ROOT / folder).rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > 450
    }


def test_the_front_door_imports_a_room_only_when_it_is_asked_for() -> None:
    code = (
        "import sys, crucible.commandline, crucible.subcommands;"
        "print(sorted({'harness', 'agents', 'analysis', 'carla', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "module",
    [
        *(f"analysis.commands.{name}" for name in ("compare", "tables", "report")),
        "studies.interventions.effects",
        "studies.critical.printing",
    ],
)
def test_commands_of_analysis_start_without_what_few_of_them_need(module: str) -> None:
    slow = "{'statsmodels', 'scipy.stats', 'matplotlib'}"
    code = f"import sys, {module}; print(sorted({slow} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_module_imports_itself_by_way_of_others() -> None:
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for folder in HOUSES
        for path in (ROOT / folder).rglob("*.py")
    }
    imported = {
        module: {
            name if name in files else name.rpartition(".")[0]
            for name in imports(path)
            if (name if name in files else name.rpartition(".")[0]) in files
        }
        for module, path in files.items()
    }
    for module, names in imported.items():
        reached: set[str] = set()
        ahead = list(names)
        while ahead:
            name = ahead.pop()
            if name not in reached:
                reached.add(name)
                ahead += imported[name]
        assert module not in reached, f"{module} imports itself by way of others"


def meeting_names(path: Path) -> set[str]:
    """Return the classes and modules of ours whose name means two things in one module."""
    tree = ast.parse(path.read_text())
    sources: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                module = ROOT.joinpath(*f"{node.module}.{alias.name}".split("."))
                is_module = module.with_suffix(".py").is_file() or module.is_dir()
                if node.module.split(".")[0] in HOUSES and (is_module or alias.name[0].isupper()):
                    sources.setdefault(alias.name, set()).add(node.module)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name in sources:
            sources[node.name].add(str(path))
    return {name for name, modules in sources.items() if len(modules) > 1}


def test_no_name_means_two_things_where_it_is_used() -> None:
    """A class and a module have one meaning in each module, also where one has another name."""
    for house in HOUSES:
        for path in (ROOT / house).rglob("*.py"):
            assert not meeting_names(path), path


def test_names_that_meet_are_seen(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        "from harness.types.vocabulary import Pose\n"
        "from harness.authoring.geometry import Pose as Place\n"
        "from harness.campaign.attempt import live\n"
        "from harness.campaign.running import live as shown\n"
        "from harness.records.reading import CampaignRecords\nclass CampaignRecords: ...\n"
    )
    assert meeting_names(module) == {"Pose", "live", "CampaignRecords"}


def ordered_fields(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the dataclasses of a module and how many of their fields have a place in calls."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            decorators = [ast.unparse(one) for one in node.decorator_list]
            if any(re.match(r"(dataclasses\.)?dataclass\b", one) for one in decorators):
                lines = [ast.unparse(one) for one in node.body if isinstance(one, ast.AnnAssign)]
                named = any("kw_only=True" in one for one in decorators)
                yield node.name, 0 if named else fields_with_a_place(lines)


def fields_with_a_place(fields: list[str]) -> int:
    """Count the fields before the first that only a keyword can give."""
    count = 0
    for field in fields:
        if field.endswith("KW_ONLY"):
            return count
        count += not re.search(r": (typing\.)?ClassVar\b|kw_only=True|init=False", field)
    return count


def test_fields_are_named_from_the_fifth_on() -> None:
    """Except a pose's, which records hold as six numbers in a row."""
    ordered = {
        f"{path.relative_to(ROOT)}: {name}": count
        for room in (*HOUSES, "tests")
        for path in (ROOT / room).rglob("*.py")
        for name, count in ordered_fields(path)
    }
    assert len(ordered) > 350
    assert {name for name, count in ordered.items() if count > 4} == {
        "harness/types/vocabulary.py: Pose"
    }


@pytest.mark.parametrize(
    ("head", "fields", "count"),
    [
        ("@dataclass", "a: int; b: int = 2", 2),
        ("@dataclass(frozen=True)", "a: int; b: list[int] = field(init=False)", 1),
        ("@dataclass(frozen=True)", "a: int; kind: ClassVar[str] = 'x'; b: int", 2),
        ("@dataclass", "a: int; _: KW_ONLY; b: int; c: int", 1),
        ("@dataclass(kw_only=True)", "a: int; b: int", 0),
    ],
)
def test_fields_with_a_place_are_counted(
    tmp_path: Path, head: str, fields: str, count: int
) -> None:
    module = tmp_path / "module.py"
    module.write_text(f"{head}\nclass Thing:\n    {fields}\n")
    assert list(ordered_fields(module)) == [("Thing", count)]


def test_a_percentage_has_a_space_before_its_sign() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    sources = [path for house in (*HOUSES, "tests") for path in (ROOT / house).rglob("*.py")]
    tight = [path for path in pages if re.search(r"\d%", path.read_text(encoding="utf-8"))]
    # Python's own format of a share has no space
    tight += [
        path for path in sources if re.search(r":[.\d]*%\}", path.read_text(encoding="utf-8"))
    ]
    assert not tight
