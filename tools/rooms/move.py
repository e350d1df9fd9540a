"""python move.py TREE: moves Crucible's modules into rooms by question, and rewrites what names them.

Idempotent: what has been moved already is left where it is, and old names that a merge brought in are
rewritten. Step by step: moves (git mv), merges and splits of modules, imports by syntax, dotted names
and paths as text, patches (exact texts, which fail loudly), files of its own (move_files/), ruff.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
FILES = HERE / "move_files"
TREE = Path(sys.argv[1]).resolve()
ONLY_PATCHES = "--patches" in sys.argv

# ---------------------------------------------------------------- the table

SCENES = ("scene", "answers", "owners", "recount")
GEOMETRY = (
    *("casting", "rays", "ground", "shadows", "shapes", "occlusion", "insertion", "deletion"),
    *("placement", "sight"),
)
METAMORPHIC = {
    "metamorphic.search.type_checks": "studies.search.setting_checks",
    "metamorphic.space": "studies.space",
    "metamorphic.operators.operator": "studies.metamorphic.scenes.operator",
    **{f"metamorphic.{n}": f"studies.metamorphic.scenes.{n}" for n in SCENES},
    **{f"metamorphic.{n}": f"studies.metamorphic.geometry.{n}" for n in GEOMETRY},
    "metamorphic.placebos": "studies.metamorphic.operators.placebos",
    "metamorphic.matching": "studies.metamorphic.relations.matching",
    "metamorphic.judging": "studies.metamorphic.judging.rows",
    **{
        f"metamorphic.{n}": f"studies.metamorphic.judging.{n}"
        for n in ("checks", "verdicts", "guidance", "bands", "following")
    },
    **{
        f"metamorphic.{n}": f"studies.metamorphic.running.{n}"
        for n in ("study", "systems", "climbing", "generation")
    },
    **{f"metamorphic.{n}": f"studies.metamorphic.storage.{n}" for n in ("records", "packing")},
    **{
        f"metamorphic.{n}": f"studies.metamorphic.tables.{n}"
        for n in ("summary", "sheets", "smallest", "choosing", "printing")
    },
}
TYPES = ("vocabulary", "geometry", "overlap", "precision", "ego_body")
CRITICAL = {
    "crucible.critical": "studies.critical.critical",
    "harness.campaign.twins.critical": "studies.critical.driving",
    "harness.campaign.twins.bisection": "studies.critical.bisection",
    "analysis.figures.critical": "studies.critical.figures",
    "analysis.commands.critical": "studies.critical.printing",
}
QUESTIONS = {
    **CRITICAL,
    "crucible.rate": "studies.rates.rate",
    "harness.campaign.twins.attribution": "studies.attribution.driving",
    "analysis.attribution": "studies.attribution.tables",
    "analysis.figures.effects": "studies.interventions.effect_figures",
    "analysis.figures.doses": "studies.interventions.dose_figures",
    "analysis.simulation.interventions": "studies.interventions.simulation",
}
WITH_REGISTRY = {  # where a subcommand is a file of a folder of commands
    "harness.commands.attribute": "studies.attribution.attribute",
    "analysis.commands.effects": "studies.interventions.effects",
    "analysis.commands.errors": "studies.interventions.errors",
}
OWN_TOWNS = ("crucible05", "hill", "old", "ring")
TOOLS = {
    f"harness.authoring.{n}": f"tools.authoring.{n}"
    for n in ("__main__", "body_view", "plan_view", "sweep_view", "shapes", *OWN_TOWNS)
}
SEARCH_TESTS = (
    *("basins", "searched", "test_gaps", "test_ledger", "test_samplers", "test_shrink_confirm"),
    *("test_search", "test_search_driven", "test_search_findings", "test_search_objectives"),
    *("test_search_rates", "test_search_refused"),
)
TESTS = {
    "tests.metamorphic.conftest": "tests.studies.conftest",
    **{f"tests.metamorphic.{n}": f"tests.studies.search.{n}" for n in SEARCH_TESTS},
}
EXPLICIT = {**METAMORPHIC, **QUESTIONS, **TOOLS, **TESTS}
FOLDERS = {  # whole packages; the first that fits is taken
    "metamorphic.search": "studies.search",
    "metamorphic": "studies.metamorphic",
    "analysis.critical": "studies.critical",
    "analysis.effects": "studies.interventions",
    "harness.fidelity": "tools.fidelity",
    "tests.metamorphic": "tests.studies.metamorphic",
    "tests.critical": "tests.studies.critical",
}
MERGES = {  # (first, second) -> the first
    "studies.search.searching": "studies.search.search",
    "studies.search.confirming": "studies.search.confirm",
    "studies.search.shrinking": "studies.search.shrink",
}
RECORD_NAMES = ("PATTERNS", "SURROGATES", "BANDS", "GROUND_TRUTHS")
SYSTEMS = (
    *("FusionStage", "FUSION_STAGES", "get_fusion_stage", "System", "PrivilegedSystem"),
    *("PerceivingSystem", "PrivilegedPerceivingSystem", "drive_by_perception"),
    *("is_perceiving_system", "is_privileged"),
)
VOCABULARY = "harness.types.vocabulary"
BY_NAME = {  # names that leave a module for another
    "harness.vocabulary": {
        **dict.fromkeys(RECORD_NAMES, "harness.types.record_names"),
        **dict.fromkeys(SYSTEMS, "harness.types.systems"),
    },
    "harness.authoring": dict.fromkeys(
        ("DATA", "PLANS", "JunctionControl", "TownPlan", "write_town_opendrive"),
        "tools.authoring.shipped_towns",
    ),
}
BY_NAME[VOCABULARY] = BY_NAME["harness.vocabulary"]
PATHS = {  # what is no module; folders and files
    "metamorphic/data": "studies/metamorphic/geometry/data",
    "metamorphic/py.typed": "studies/py.typed",
    "docs/study/parts/README.md": "docs/study/parts.md",
    **{
        f"docs/study/{name}": f"studies/published/{name}"
        for name in (
            *("parts", "routes", "search", "analyse", "drive", "metamorphic.parquet"),
            *("reference.json", "ages.py", "cells.py", "confirm.py", "refer.py", "repeats.py"),
            "tables.py",
        )
    },
    "harness/fidelity/data": "tools/fidelity/data",
}
FROZEN = re.compile(  # a protocol's digest has its bytes; records are data
    r"docs/study/.*protocol\.md$|^CHANGELOG\.md$|studies/published/(search|routes|parts|protocol)|docs/example-report/.*html$"
    r"|tests/.*golden.*\.json|tests/bad_inputs/|\.jsonl$|\.xodr$|\.xml$|requirements\.lock$"
)
TEXTS = {".py", ".md", ".yml", ".yaml", ".toml", ".json", ".ipynb", ".txt", ".in", ".cfg", ".sh"}
NAMED = {"Makefile", "run", "wheel", "analyse", "drive"}


def run(*words: str) -> str:
    """Run a command in the tree."""
    return subprocess.run(words, cwd=TREE, check=True, capture_output=True, text=True).stdout


def as_path(module: str) -> Path:
    return TREE.joinpath(*module.split(".")).with_suffix(".py")


def listed() -> list[Path]:
    """All tracked and new files."""
    out = run("git", "ls-files", "-co", "--exclude-standard")
    return [TREE / line for line in out.splitlines() if (TREE / line).is_file()]


def as_module(path: Path) -> str:
    return ".".join(path.relative_to(TREE).with_suffix("").parts)


def target_of(module: str) -> str | None:
    """Where a module of the old house goes; None if it stays."""
    if module in EXPLICIT:
        return EXPLICIT[module]
    if module in WITH_REGISTRY and has_registry():
        return WITH_REGISTRY[module]
    parts = module.split(".")
    if parts[0] == "harness" and len(parts) == 2 and parts[1] not in {"__init__", "__main__"}:
        if (TREE / "harness" / parts[1]).is_dir():
            return None
        return f"harness.{'types' if parts[1] in TYPES else 'common'}.{parts[1]}"
    for old, new in FOLDERS.items():
        if module.startswith(old + "."):
            return new + module[len(old) :]
    return None


def has_registry() -> bool:
    return any(
        (TREE / "harness" / place / "command_registry.py").is_file() for place in ("", "common")
    )


def whole_map() -> dict[str, str]:
    """Old modules -> new ones: the table, and what stands in old and in new folders."""
    table = dict(EXPLICIT)
    if has_registry():
        table |= WITH_REGISTRY
    for path in listed():
        if path.suffix != ".py":
            continue
        module = as_module(path)
        if new := target_of(module):
            table[module] = new
        for old, folder in FOLDERS.items():
            if module.startswith(folder + "."):
                was = old + module[len(folder) :]
                if target_of(was) == module:
                    table.setdefault(was, module)
        for place in ("types", "common"):
            if module.startswith(f"harness.{place}."):
                table.setdefault(f"harness.{path.stem}", module)
    table = {old: new for old, new in table.items() if not old.endswith("__init__")}
    for old in ("searching", "confirming", "shrinking"):
        table[f"metamorphic.search.{old}"] = MERGES[f"studies.search.{old}"]
    return table


# ---------------------------------------------------------------- moves


def move_modules() -> None:
    for path in listed():
        if path.suffix != ".py":
            continue
        module = as_module(path)
        new = target_of(module)
        if new is None:
            continue
        to = as_path(new)
        if to.exists():
            if to.name == "__init__.py":
                path.unlink()
                continue
            raise SystemExit(f"{path} and {to} are both there: settle this by hand")
        to.parent.mkdir(parents=True, exist_ok=True)
        depth = len(new.split(".")) - len(module.split("."))
        path.rename(to)
        if depth:
            deepen(to, depth)
    for old, new in PATHS.items():
        if old == "docs/study/parts" and (TREE / "docs/study/parts/README.md").exists():
            raise SystemExit("parts/README.md first")
        if (TREE / old).exists():
            move_path(TREE / old, TREE / new)
    for path in listed():  # what a merge added to a folder of data
        name = str(path.relative_to(TREE))
        for old, new in PATHS.items():
            if name.startswith(old + "/"):
                move_path(path, TREE / (new + name[len(old) :]))
    for path in listed():  # other files of moved packages
        if path.suffix == ".py":
            continue
        name = str(path.relative_to(TREE))
        for old, new in FOLDERS.items():
            prefix = old.replace(".", "/") + "/"
            if name.startswith(prefix):
                move_path(path, TREE / (new.replace(".", "/") + "/" + name[len(prefix) :]))
    for name in ("metamorphic", "harness/fidelity", "docs/study/parts", "analysis/critical"):
        shutil.rmtree(TREE / name, ignore_errors=True) if not tracked_below(name) else None
    for name in ("analysis/effects", "tests/metamorphic", "tests/critical"):
        shutil.rmtree(TREE / name, ignore_errors=True) if not tracked_below(name) else None


def tracked_below(name: str) -> bool:
    return any(
        path.is_file() and "__pycache__" not in path.parts for path in (TREE / name).rglob("*")
    )


def move_path(old: Path, new: Path) -> None:
    new.parent.mkdir(parents=True, exist_ok=True)
    if new.is_dir() and old.is_dir():
        for inner in old.iterdir():
            move_path(inner, new / inner.name)
        return
    old.rename(new)


def deepen(path: Path, by: int) -> None:
    """`parents[1]` of a file that lies deeper is `parents[2]`; chains of two and more get longer."""
    text = path.read_text()
    made = re.sub(
        r"(__file__\)(?:\.\w+\(\))?\.parents\[)(\d+)\]",
        lambda hit: f"{hit[1]}{int(hit[2]) + by}]",
        text,
    )
    if by > 0:
        made = re.sub(r"(__file__\)(?:\.\w+\(\))?(?:\.parent){2,})\b", rf"\1{'.parent' * by}", made)
    if made != text:
        path.write_text(made)


# ---------------------------------------------------------------- splits and merges


def statements(text: str) -> Iterator[tuple[list[str], str]]:
    """Top-level statements with comments before and docstrings behind them: names, text."""
    lines = text.splitlines(keepends=True)
    body = ast.parse(text).body
    end = 0
    for node in body:
        part = "".join(lines[end : node.end_lineno])
        end = node.end_lineno or end
        yield names_of(node), part


def names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    if isinstance(node, ast.Expr):
        return ["<text>"]
    return [f"<{type(node).__name__}>"]


def split_vocabulary() -> None:
    path = as_path(VOCABULARY)
    text = path.read_text()
    kept, out = [], {"harness.types.record_names": [], "harness.types.systems": []}
    last: list[str] = kept
    for names, part in statements(text):
        if names != ["<text>"]:
            target = BY_NAME[VOCABULARY].get(names[0])
            last = kept if target is None else out[target]
        last.append(part)
    if not any(out.values()):
        return
    path.write_text("".join(kept))
    record = '"""Names that records, tables and figures share: patterns, surrogates, distance bands."""\n\nfrom __future__ import annotations\n\n'
    as_path("harness.types.record_names").write_text(
        record + "".join(out["harness.types.record_names"]).lstrip("\n")
    )
    body = "".join(out["harness.types.systems"]).lstrip("\n")
    used = {n.id for n in ast.walk(ast.parse(body)) if isinstance(n, ast.Name)}
    here = {
        name
        for names, _ in statements("".join(kept))
        for name in names
        if not name.startswith("<")
    }
    needed = ", ".join(sorted(used & here))
    as_path("harness.types.systems").write_text(
        '"""What a system under test must offer: protocols, and how the harness tells them apart."""\n\n'
        "from __future__ import annotations\n\n"
        "from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, get_args\n\n"
        f"from {VOCABULARY} import {needed}\n\n"
        "if TYPE_CHECKING:\n    from typing_extensions import TypeIs\n\n" + body
    )


def merge_modules() -> None:
    for second, first in MERGES.items():
        a, b = as_path(first), as_path(second)
        if not b.exists():
            continue
        rewrite_imports(a)
        rewrite_imports(b)
        a.write_text(merged(a.read_text(), b.read_text(), first))
        b.unlink()


def merged(a: str, b: str, name: str) -> str:
    heads, bodies, checked = [], [], []
    doc = []
    for text in (a, b):
        parts = list(statements(text))
        doc.append(ast.get_docstring(ast.parse(text)) or "")
        for number, (names, part) in enumerate(parts):
            if names == ["<text>"] and number == 0:
                continue
            if names in (["<ImportFrom>"], ["<Import>"]):
                if "__future__" not in part:
                    heads.append(part.strip("\n"))
            elif names == ["<If>"] and "TYPE_CHECKING" in part:
                checked.append(part.strip("\n").split("\n", 1)[1])
            else:
                bodies.append(part)
    heads = [h for h in heads if not re.match(rf"\s*from {re.escape(name)} import", h)]
    joined = "\n\n".join(d.strip() for d in doc if d)
    quote = '"""'
    out = [f"{quote}{joined}\n{quote}" if "\n" in joined else f"{quote}{joined}{quote}", ""]
    out += ["from __future__ import annotations", "", *dict.fromkeys(heads), ""]
    if checked:
        out += ["if TYPE_CHECKING:", *checked, ""]
    return "\n".join(out) + "\n" + "".join(bodies) + ("" if b.endswith("\n") else "\n")


def authoring_room() -> None:
    """Our own towns' plans leave `harness.authoring`, whose `__init__` gets empty."""
    init, to = TREE / "harness/authoring/__init__.py", TREE / "tools/authoring/shipped_towns.py"
    if not to.exists():
        to.parent.mkdir(parents=True, exist_ok=True)
        init.rename(to)
        text = to.read_text()
        text = text.replace("`python -m harness.authoring build`", "`python -m tools.authoring build`")
        to.write_text(text)
        init.write_text('"""OpenDRIVE from plans of towns, and checks of what a plan became."""\n')
    for name in ("tools", "tools/authoring"):
        file = TREE / name / "__init__.py"
        if not file.exists():
            file.write_text("")


def packages() -> None:
    """An `__init__.py` in every folder with modules, where the old house had them."""
    for top in ("studies", "harness/types", "harness/common", "tests/studies"):
        for path in (TREE / top).rglob("*.py"):
            for folder in [path.parent, *path.parent.parents]:
                if TREE / top in (folder, *folder.parents) and folder != TREE / "studies/published":
                    init = folder / "__init__.py"
                    if not init.exists():
                        init.write_text("")
    keep = TREE / "studies/published/__init__.py"
    if keep.exists():
        keep.unlink()


# ---------------------------------------------------------------- imports and texts

TABLE: dict[str, str] = {}


def new_home(module: str, name: str) -> tuple[str, str | None]:
    """The module that a name is imported from, and its new name if that is a module's."""
    full = f"{module}.{name}"
    if full in TABLE:
        parent, _, last = TABLE[full].rpartition(".")
        return parent, last
    if module == "harness" and name == "authoring":
        return "tools.authoring", "shipped_towns"
    if module in BY_NAME and name in BY_NAME[module]:
        return BY_NAME[module][name], None
    return TABLE.get(module, module), None


def rewrite_imports(path: Path) -> None:
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    changed = False
    for node in sorted(
        (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom)),
        key=lambda n: -n.lineno,
    ):
        if node.level or node.module is None:
            continue
        groups: dict[str, list[str]] = {}
        moved = False
        for alias in node.names:
            home, last = new_home(node.module, alias.name)
            name, known = last or alias.name, alias.asname
            if last and last != alias.name and known is None:
                known = alias.name
            moved |= home != node.module or name != alias.name
            groups.setdefault(home, []).append(name if known in (None, name) else f"{name} as {known}")
        if not moved:
            continue
        first, last_line = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        tail = lines[last_line][node.end_col_offset :].rstrip("\n")
        comment = re.search(r"#.*", lines[first]) if first != last_line else None
        note = tail or (f"  {comment[0]}" if comment else "")
        made = []
        for home, names in groups.items():
            plain = [name for name in names if " as " not in name]
            parts = [", ".join(plain)] if plain else []
            parts += [name for name in names if " as " in name]
            made += [f"{indent}from {home} import {part}{note}\n" for part in parts]
        before = lines[first][: node.col_offset]
        if before.strip():  # `code = "...; from a import b"` never gets here; one statement a line
            raise SystemExit(f"{path}:{node.lineno}: an import behind something else")
        lines[first : last_line + 1] = made
        changed = True
    if changed:
        path.write_text("".join(lines))


def text_rules() -> list[tuple[re.Pattern[str], object]]:
    rules: list[tuple[re.Pattern[str], object]] = []
    dotted = sorted(TABLE, key=len, reverse=True)
    dotted = [d for d in dotted if d.count(".")]
    packages = {
        old: new
        for old, new in FOLDERS.items()
        if "." in old and old not in ("tests.metamorphic",)
    }
    packages |= {"tests.metamorphic": "tests.studies.metamorphic"}
    names = sorted({*dotted, *packages}, key=len, reverse=True)
    pattern = re.compile(
        r"(?<![\w./-])(" + "|".join(map(re.escape, names)) + r")(?![\w/]|\.(?:md|parquet|py\b|svg|csv|html))"
        r"(?:([.:])(\w+))?"
    )

    def by_module(hit: re.Match[str]) -> str:
        old, sep, name = hit[1], hit[2] or "", hit[3] or ""
        new = TABLE.get(old) or packages[old]
        if name and old in BY_NAME:
            new = BY_NAME[old].get(name, new)
        return f"{new}{sep}{name}"

    rules.append((pattern, by_module))
    metamorphic = re.compile(r"(?<![\w./-])metamorphic\.(operators|relations|drives|pages|retraining|commands)\b(?!/)")
    rules.append((metamorphic, r"studies.metamorphic.\1"))
    rules.append((re.compile(r"python -m metamorphic\b"), "python -m studies.metamorphic"))
    rules.append((re.compile(r"python -m harness\.authoring\b"), "python -m tools.authoring"))
    rules.append((re.compile(r"(?<![\w.])harness\.fidelity\b"), "tools.fidelity"))
    paths = {old.replace(".", "/") + ".py": new.replace(".", "/") + ".py" for old, new in TABLE.items()}
    paths |= {k: v for k, v in PATHS.items()}
    paths |= {
        old.replace(".", "/"): new.replace(".", "/") for old, new in FOLDERS.items() if "." in old
    }
    ordered = sorted(paths, key=len, reverse=True)
    path_pattern = re.compile(
        r"(?<![\w./-])((?:\.\./)*)(" + "|".join(map(re.escape, ordered)) + r")(?![\w-])(?!\.\w)"
    )
    rules.append((path_pattern, lambda hit: hit[1] + paths[hit[2]]))
    return rules


def rewrite_texts() -> None:
    rules = text_rules()
    for path in listed():
        name = str(path.relative_to(TREE))
        if (path.suffix not in TEXTS and path.name not in NAMED) or FROZEN.search(name):
            continue
        if path.suffix == ".py" and b"import" in path.read_bytes():
            rewrite_imports(path)
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
        made = text
        for pattern, new in rules:
            made = pattern.sub(new, made)
        if made != text:
            path.write_bytes(made.encode("utf-8"))


def main() -> None:
    global TABLE
    if not ONLY_PATCHES:
        move_modules()
        authoring_room()
        TABLE = whole_map()
        merge_modules()
        split_vocabulary()
        packages()
        rewrite_texts()
    TABLE = TABLE or whole_map()
    sys.path.insert(0, str(HERE))
    import move_patches

    move_patches.apply(TREE, FILES, has_registry())
    run("git", "add", "-A")
    changed = [
        line
        for line in run("git", "diff", "--cached", "--name-only", "--diff-filter=d", "HEAD").splitlines()
        if line.endswith(".py")
    ]
    if changed:
        ruff = str(TREE / ".venv/bin/ruff")
        subprocess.run([ruff, "check", "-q", "--select", "I,F401", "--fix", *changed], cwd=TREE)
        subprocess.run([ruff, "format", "-q", *changed], cwd=TREE)
    run("git", "add", "-A")


if __name__ == "__main__":
    main()
