"""The arrows between the rooms, and the habits of the house."""

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
AUTHORING = ROOT / "harness" / "authoring"
TOOLS = ROOT / "tools"
PUBLISHED = ROOT / "studies" / "published"
HOUSES = ("harness", "agents", "analysis", "studies", "crucible", "tools")
COMMANDS = ROOT / "harness" / "commands"
COMMON = {
    "actors",
    "angles",
    "arrays",
    "compiled",
    "errors",
    "folders",
    "labels",
    "randomness",
    "towns.model",
    "towns.lookup",
}
ROOMS = {
    "blueprints": {"bodies"},
    "bodies": {"blueprints"},
    "dynamics": set[str](),
    "sensors": {"bodies"},
    "towns": {"bodies"},
    "traffic": set[str](),
    "wire": set[str](),
}

GROUND = {"common", "types"}
COMMON_GROUND = tuple(f"harness.{name}." for name in sorted(GROUND))
HOUSE = {
    "world": set[str](),
    "channel": set[str](),
    "evaluation": set[str](),
    "records": set[str](),
    "viewing": set[str](),
    "campaign": {"world", "channel", "evaluation", "records", "viewing"},
    "checks": {"world", "channel", "evaluation", "records", "campaign"},
    "doctor": {"world", "channel", "evaluation", "records", "campaign"},
    "commands": {"world", "channel", "evaluation", "records", "campaign", "doctor", "authoring"},
}
"""Which rooms each room may import, besides itself and the common ground."""
CAMPAIGN = (
    *("settings", "folder", "attempt", "running", "exports"),
    *("planning", "printing", "run", "twins"),
)
"""From the bottom to the top: each may import itself and those before it, so there is no circle."""
STUDIES = {
    "space": set[str](),
    "attribution": set[str](),
    "critical": set[str](),
    "interventions": set[str](),
    "metamorphic": {"space"},
    "search": {"space", "attribution"},
    "rates": {"space", "search"},
}
"""Which studies each study may import, besides itself."""
SHOWN = ("studies.attribution.", "studies.interventions.")
"""Studies whose tables the commands and the report of `analysis` show."""


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


def test_nothing_but_authoring_and_tools_imports_carlite() -> None:
    outside = [
        path
        for folder in ("harness", "agents", "analysis", "studies")
        for path in (ROOT / folder).rglob("*.py")
        if not {CARLITE, AUTHORING} & set(path.parents)
    ]
    assert outside
    for path in outside:
        assert not [name for name in imports(path) if name.startswith("harness.carlite")], path
        assert not re.search(r"(from|import) harness\.carlite", path.read_text()), path


def test_carlite_imports_nothing_else() -> None:
    for path in CARLITE.rglob("*.py"):
        for name in imports(path):
            top = name.split(".")[0]
            assert top not in {"carla", "torch", "matplotlib"}, f"{path}: {name}"
            if top in HOUSES:
                assert name.startswith("harness.carlite"), f"{path}: {name}"


def test_authoring_imports_carlite_alone_and_commands_and_tools_import_it() -> None:
    paths = [path for folder in HOUSES for path in (ROOT / folder).rglob("*.py")]
    assert any(AUTHORING in path.parents for path in paths)
    for path in paths:
        inside = AUTHORING in path.parents
        may_import = inside or {COMMANDS, TOOLS} & set(path.parents)
        for name in imports(path):
            where = f"{path.relative_to(ROOT)} imports {name}"
            assert name.startswith("harness.authoring") <= bool(may_import), where
            if inside and name.startswith(HOUSES):
                assert name.startswith(("harness.authoring", "harness.carlite")), where


def test_tools_import_carlite_and_authoring_and_nothing_imports_them() -> None:
    for folder in HOUSES:
        for path in (ROOT / folder).rglob("*.py"):
            inside = TOOLS in path.parents
            for name in imports(path):
                where = f"{path.relative_to(ROOT)} imports {name}"
                assert name.startswith("tools.") <= inside, where
                if inside and name.startswith(HOUSES):
                    assert name.startswith(("tools", "harness.authoring", "harness.carlite")), where


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_rooms_keep_to_the_common_ground(room: str) -> None:
    allowed = COMMON | ROOMS[room] | {room}
    for path in (CARLITE / room).rglob("*.py"):
        for name in imports(path):
            if name.startswith("harness.carlite."):
                inside = name.removeprefix("harness.carlite.")
                assert any(inside == ok or inside.startswith(ok + ".") for ok in allowed), (
                    f"{path.relative_to(ROOT)} imports {name}"
                )


def test_analysis_knows_records_and_evaluation_only() -> None:
    rooms = ("harness.records", "harness.evaluation", "harness.viewing")
    allowed = ("analysis", *rooms, *COMMON_GROUND)
    files = sorted((ROOT / "analysis").rglob("*.py"))
    assert files
    for path in files:
        for name in imports(path):
            top = name.split(".")[0]
            assert top not in {"carla", "torch", "hydra", "omegaconf", "agents"}, f"{path}: {name}"
            where = f"{path.relative_to(ROOT)} imports {name}"
            if top == "harness":
                assert name.startswith(allowed), where
            if top == "studies":
                assert path.relative_to(ROOT).parts[1] in {"commands", "report"}, where
                assert name.startswith(SHOWN), where
    for room in ("harness", "agents"):
        for path in (ROOT / room).rglob("*.py"):
            assert not [name for name in imports(path) if name.split(".")[0] == "analysis"], path


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


@pytest.mark.parametrize("room", sorted(HOUSE))
def test_arrows_between_the_rooms(room: str) -> None:
    allowed = GROUND | HOUSE[room] | {room}
    paths = list((ROOT / "harness" / room).rglob("*.py"))
    assert paths
    for path in paths:
        for name in imports(path):
            assert not name.startswith("agents"), f"{path.relative_to(ROOT)} imports {name}"
            if name.startswith("harness."):
                assert name.split(".")[1] in allowed, f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("room", CAMPAIGN)
def test_layers_of_a_campaign(room: str) -> None:
    allowed = CAMPAIGN[: CAMPAIGN.index(room) + 1]
    campaign = ROOT / "harness" / "campaign"
    paths = list((campaign / room).rglob("*.py")) or [campaign / f"{room}.py"]
    for path in paths:
        for name in imports(path):
            if name.startswith("harness.campaign."):
                assert name.split(".")[2] in allowed, f"{path.relative_to(ROOT)} imports {name}"


def test_every_part_of_a_campaign_has_its_layer() -> None:
    campaign = ROOT / "harness" / "campaign"
    parts = {path.relative_to(campaign).parts[0] for path in campaign.rglob("*.py")}
    assert {part.removesuffix(".py") for part in parts} == {"__init__", *CAMPAIGN}


def test_only_training_drives_the_harness_and_nothing_imports_it() -> None:
    for path in (ROOT / "agents").rglob("*.py"):
        training = "training" in path.relative_to(ROOT).parts
        rooms = ("harness.world",) if training else ()
        for name in imports(path):
            where = f"{path.relative_to(ROOT)} imports {name}"
            if name.startswith("harness."):
                assert name.startswith((*COMMON_GROUND, *rooms)), where
            assert training or not name.startswith("agents.training"), where


@pytest.mark.parametrize("study", sorted(STUDIES))
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
    shared = r"analysis\.(drawing|statistics|report\.(html|script|style))\b"
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
        assert all(name.startswith("harness.types.") for name in ours), path


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


def test_nothing_imports_the_front_door() -> None:
    for folder in ("harness", "agents", "analysis", "studies"):
        for path in (ROOT / folder).rglob("*.py"):
            if PUBLISHED not in path.parents:  # scripts, which run commands
                assert not [name for name in imports(path) if name.split(".")[0] == "crucible"], (
                    path
                )


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
