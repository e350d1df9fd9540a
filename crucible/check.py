"""`crucible check`: tests whether a plug-in of yours does what a campaign needs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from agents.commandline import run_and_report
from agents.conformance.instantiation import (
    is_class_name,
    load_named_class,
    make_system_factory,
    resolve_system_settings,
)
from agents.v2xverse.agent_files import WHERE
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.findings import Finding
from harness.common.options import OneLineParser, move_options_first
from harness.common.terminal_lines import print_notice
from harness.types.agent_sensors import brings_sensors
from harness.world.routes.checkout import CLONE

COMMAND = CommandDeclaration(
    group="Plug-ins",
    rank=20,
    purpose="check a plug-in of your own: a system, metric, hazard, disturbance, ...",
    extra="run,learn",
    examples=(
        "crucible check late",
        "crucible check mylab.system:Mine threshold=0.3",
        "crucible check mylab.system:Mine --recording street.npz",
        "crucible check mylab.metric:Mine",
        "crucible check study=mine --config-dir mine",
    ),
)


HAZARDS = "harness.checks.hazard"
"""Its check is given the class and its parameters: a hazard itself takes a placement."""
PLUGIN_KINDS = {
    "harness.evaluation.metrics.metric.Metric": ("a metric", "harness.checks.metric"),
    "harness.world.hazards.hazard.Hazard": ("a hazard", HAZARDS),
    "harness.world.changes.change.SceneChange": (
        "a change of the scene",
        "harness.checks.scene_change",
    ),
    "harness.channel.disturbance.Disturbance": ("a disturbance", "harness.checks.disturbance"),
    "harness.channel.links.link.Link": ("a link", "harness.checks.link"),
    "harness.world.routes.sources.RouteSource": ("a route source", "harness.checks.route_source"),
    "harness.campaign.exports.export.Export": ("an export", "harness.checks.export"),
    "harness.types.drivers.RouteDriver": ("a driver", "agents.conformance.driver_check"),
    "agents.perception.fusion.base.IntermediateFusion": (
        "a fusion module",
        "agents.conformance.fusion_check",
    ),
}
"""What a class is by the base that it inherits from, and the module that checks it."""
V2XVERSE = "v2xverse"
OPENCOOD = "opencood"
WITH_VALUE = ("--recording", "--config-dir")
"""Options whose value is the next word."""
SYSTEM_KIND = "a system under test"
SAMPLER_KIND = "a sampler"
SAMPLER_ATTRIBUTES = ("libraries", "ask", "report")
SYSTEM_ATTRIBUTES = ("reads_points", "reads_messages", "reset", "share", "step")
DRIVE_INSTEAD = (
    "it was made; it brings its own sensors, which recorded steps do not have: drive it, as with"
    " crucible run routes=short"
)
NAMES = "package.module:Class of a plug-in; study=NAME or DIR/study/NAME.yaml; or a shipped system"


def main(arguments: Sequence[str], program: str = "crucible check") -> int:
    """Check a plug-in; 0 if nothing failed, 1 if something did, 2 if it is none."""
    parser = OneLineParser(prog=program, description=__doc__)
    parser.add_argument("plug_in", metavar="NAME", help=NAMES)
    parser.add_argument(
        "settings", nargs="*", default=[], metavar="name=value", help="arguments of the class"
    )
    parser.add_argument(
        "--recording",
        type=Path,
        metavar="FILE",
        help="for systems: file of the recorded street, written or read (default: not kept)",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help=(
            "for opencood: build and step every configuration of the checkout once; only= names"
            " part of a path, cut_range= cuts ranges (default: the one of checkpoint=)"
        ),
    )
    parser.add_argument(
        "--config-dir",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help=(
            "for studies: folder of your configuration, as for crucible run; may be"
            " repeated (default: none)"
        ),
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help=(
            "for studies: build all classes that files of your configuration name (default:"
            " only classes that declare safe_from_file)"
        ),
    )
    options = parser.parse_args(move_options_first(arguments, WITH_VALUE))
    return run_and_report(lambda: run_plugin_check(options))


def run_plugin_check(options: argparse.Namespace) -> int:
    """Check a plug-in, and print a table of what was found."""
    from crucible.check_study import check_composed_study, is_study  # noqa: PLC0415
    from harness.common.console import make_console  # noqa: PLC0415
    from harness.common.findings import show_findings  # noqa: PLC0415

    if is_study(options.plug_in):
        if options.settings:
            raise UserError(f"{options.settings[0]}: a study is checked as it is, without settings")
        folders, trust = options.config_dir, options.trust
        kind, findings = "a study", check_composed_study(options.plug_in, folders, trust=trust)
    elif options.all:
        kind = "a checkout"
        findings = try_all_configurations(options.plug_in, options.settings, options.recording)
    else:
        kind, findings = check_plugin(options.plug_in, options.settings, options.recording)
    show_findings(f"{options.plug_in} as {kind}", findings, make_console())
    return int(any(finding.verdict == "failed" for finding in findings))


def name_plugin_kind(named: type) -> str:
    """Return the kind of a class, such as `a metric`; nothing if it is no plug-in."""
    for base in named.__mro__[1:]:
        if known := PLUGIN_KINDS.get(f"{base.__module__}.{base.__qualname__}"):
            return known[0]
    if all(hasattr(named, attribute) for attribute in SYSTEM_ATTRIBUTES):
        return SYSTEM_KIND
    return SAMPLER_KIND if is_sampler_class(named) else ""


def is_sampler_class(named: type) -> bool:
    """Return whether a class has what a search calls a sampler by."""
    return all(hasattr(named, attribute) for attribute in SAMPLER_ATTRIBUTES)


def check_plugin(
    name: str, settings: Sequence[str] = (), recording: Path | None = None
) -> tuple[str, list[Finding]]:
    """Return what a plug-in is, and what its check finds.

    Args:
        name: package.module:Class, a name of ours, or a folder of V2Xverse.
        settings: arguments of the class, as name=value.
        recording: of systems: the recorded street; None: it is recorded now.

    Returns:
        What the plug-in is, such as `a sampler`, and its findings.

    Raises:
        UserError: it is none.
    """
    # a checkpoint of V2Xverse
    described = describe_v2xverse(name, settings)
    if described and not any(word.startswith("root=") for word in settings):
        return "a checkpoint", described
    make = make_system_factory(name, settings)
    # a class: samplers, then subclasses of a plug-in base
    if is_class_name(name):
        named = load_named_class(name)
        if is_sampler_class(named):
            from crucible.check_sampler import list_sampler_findings  # noqa: PLC0415 - few need it

            return SAMPLER_KIND, list_sampler_findings(named)
        for base in named.__mro__:
            if known := PLUGIN_KINDS.get(f"{base.__module__}.{base.__qualname__}"):
                kind, module = known
                findings_of = import_module(module).findings_of
                if module == HAZARDS:
                    parameters = resolve_system_settings(name, settings)
                    del parameters["_target_"]
                    return kind, list(findings_of(named, parameters))
                return kind, list(findings_of(make))
        # neither: it could only be a system
        if not any(hasattr(named, attribute) for attribute in SYSTEM_ATTRIBUTES):
            bases = ", ".join(base.rpartition(".")[2] for base in PLUGIN_KINDS)
            raise UserError(
                f"{name} is no plug-in: neither a subclass of {bases}, nor a system, which has"
                f" {', '.join(SYSTEM_ATTRIBUTES)}"
            )
    from rich.console import Console  # noqa: PLC0415

    from agents.conformance.examination import PLAYS, SystemExamination  # noqa: PLC0415
    from agents.conformance.recording import load_or_make_recording  # noqa: PLC0415
    from harness.common.progress_bar import show_bar  # noqa: PLC0415

    # a system: made once before the recording, which takes longer
    if brings_sensors(make()):
        return SYSTEM_KIND, [Finding("sensors", "note", DRIVE_INSTEAD)]
    recorded = load_or_make_recording(recording)
    with show_bar("playing to it", PLAYS, console=Console(stderr=True)) as bar:
        findings = SystemExamination(make, recorded, bar.advance).list_findings()
    return SYSTEM_KIND, described + findings


def try_all_configurations(
    name: str, settings: Sequence[str], recording: Path | None
) -> list[Finding]:
    """Return a row for each configuration of a checkout of OpenCOOD's or HEAL's."""
    from agents.conformance.recording import load_or_make_recording  # noqa: PLC0415
    from agents.opencood.trials import (  # noqa: PLC0415
        Trial,
        read_trial_settings,
        try_configurations,
    )

    if name != OPENCOOD:
        raise UserError(f"{name}: --all is for {OPENCOOD}")
    # what is wrong is said before a minute of recording
    tried = read_trial_settings(settings)
    street = load_or_make_recording(recording).steps[0]
    trials: list[Trial] = []
    for trial in try_configurations(tried, street):
        print_notice(f"{trial.configuration}: {trial.to_finding().verdict}")
        trials.append(trial)
    return [trial.to_finding() for trial in trials]


def describe_v2xverse(name: str, settings: Sequence[str]) -> list[Finding]:
    """Return what a V2Xverse checkpoint holds, if one is named; torch reads it as data."""
    if name != V2XVERSE:
        return []
    given = dict(word.split("=", 1) for word in settings if "=" in word)
    if "checkpoint" not in given:
        if "root" not in given:
            raise UserError(
                f"v2xverse: no checkpoint given: {WHERE}; to check how it drives, set root= (a"
                f" checkout: {CLONE}) and python= (its interpreter)"
            )
        return []
    from agents.v2xverse.checkpoint_report import describe_checkpoint  # noqa: PLC0415

    folder = Path(given["checkpoint"]).expanduser()
    if not folder.is_dir():
        raise UserError(f"v2xverse: checkpoint: folder not found: {folder}; {WHERE}")
    return list(describe_checkpoint(folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
