"""Are the packages there that each extra of ours needs, as new as needed, and do they load."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata

from harness.common.installation import install_command
from harness.doctor.children import run_code
from harness.doctor.finding import DoctorFinding

DISTRIBUTION = "v2x-crucible"
NEEDED = ("", "carlite", "run")
"""Extras without which no campaign runs; the empty one is what every install brings."""
REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(?:\[[^]]*\])?\s*(?:<(?P<below>[\w.]+),)?"
    r"\s*(?P<rule>==|>=)?\s*(?P<version>[\w.]+)?(?:,<(?P<under>[\w.]+))?(?:\s*;\s*(?P<marker>.+))?"
)
EXTRA = re.compile(r"extra\s*==\s*[\"'](\w+)[\"']")
PLATFORM = re.compile(r"\b(sys_platform|platform_machine)\b")
MODULES = {
    "hydra-core": "hydra",
    "import-linter": "importlinter",
    "mkdocs-material": "material",
    "open3d-cpu": "open3d",
    "pillow": "PIL",
    "pytest-xdist": "xdist",
    "pyyaml": "yaml",
    "rerun-sdk": "rerun",
}
"""Packages whose module has another name."""
STUBS = re.compile(r"types-.*|.*-stubs")
TRIAL = """
import importlib, sys
for name in sys.argv[1:]:
    print(name, flush=True)
    importlib.import_module(name)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageRequirement:
    """A package that an extra needs."""

    name: str
    rule: str
    version: str
    extra: str
    some_platforms: bool = False  # others need another package, or none
    below: str = ""  # the first version that is too new

    def find_problem(self) -> str | None:
        """Return what is wrong with the installed version."""
        try:
            installed = metadata.version(self.name)
        except metadata.PackageNotFoundError:
            return f"{self.name} is missing"
        have, need = parse_version_numbers(installed), parse_version_numbers(self.version)
        if (self.rule == "==" and have != need) or (self.rule == ">=" and have < need):
            return f"{self.name} is {installed}, needed is {self.rule}{self.version}"
        if self.below and have >= parse_version_numbers(self.below):
            return f"{self.name} is {installed}, needed is <{self.below}"
        return None

    @property
    def module(self) -> str:
        """What is imported."""
        return MODULES.get(self.name.lower(), self.name.replace("-", "_"))


def check_packages() -> Iterator[DoctorFinding]:
    """Check every extra."""
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        cure = install_command("run")
        yield DoctorFinding("packages", "fault", f"{DISTRIBUTION} is not installed", cure)
        return
    needed = list(read_requirements(required))
    for extra in dict.fromkeys(requirement.extra for requirement in needed):
        yield check_extra(
            extra, [requirement for requirement in needed if requirement.extra == extra]
        )


def read_requirements(lines: Sequence[str]) -> Iterator[PackageRequirement]:
    """Read the package's metadata."""
    for line in lines:
        match = REQUIREMENT.fullmatch(line.strip())
        if match is not None and match["name"] != DISTRIBUTION:
            marker = match["marker"] or ""
            extra = EXTRA.search(marker)
            yield PackageRequirement(
                name=match["name"],
                rule=match["rule"] or "",
                version=match["version"] or "",
                extra=extra[1] if extra else "",
                some_platforms=PLATFORM.search(marker) is not None,
                below=match["below"] or match["under"] or "",
            )


def check_extra(extra: str, needed: Sequence[PackageRequirement]) -> DoctorFinding:
    """Check the packages of one extra: versions first, then whether they load."""
    name = f"packages [{extra}]" if extra else "packages"
    cure = install_command(extra)
    needed = [
        one for one in needed if not one.some_platforms or one.find_problem() is None
    ] or needed
    # versions are read from metadata; modules are loaded only where those are right
    problems = [problem for requirement in needed if (problem := requirement.find_problem())]
    if extra not in NEEDED and len(problems) == len(needed):
        return DoctorFinding(name, "ok", "not installed; not needed for a campaign here", "")
    if not problems:
        modules = [
            requirement.module for requirement in needed if not STUBS.fullmatch(requirement.name)
        ]
        problem = find_unloadable_modules(modules)
        problems += [problem] if problem else []
    if problems:
        return DoctorFinding(
            name, "fault" if extra in NEEDED else "warning", "; ".join(problems), cure
        )
    versions = [
        f"{requirement.name} {metadata.version(requirement.name)}" for requirement in needed
    ]
    return DoctorFinding(name, "ok", ", ".join(versions))


def find_unloadable_modules(modules: Sequence[str]) -> str | None:
    """Import modules in a process of its own; return which of them failed, and how."""
    code, printed, complaint = run_code(TRIAL, *modules)
    return None if code == 0 else f"{printed.split()[-1]} does not load: {complaint}"


def parse_version_numbers(version: str) -> tuple[int, ...]:
    """Return a version for comparing: its leading numbers."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()
