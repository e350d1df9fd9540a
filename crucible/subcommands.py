"""The front door: one command with a subcommand for everything that the packages can do.

A subcommand's module is imported when it is asked for, so that each needs its own packages only.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version

from crucible.examples import format_examples

BAD_INPUT, INTERRUPTED = 2, 130
HELP = {"-h", "--help"}
PACKAGES = {"harness", "agents", "analysis", "metamorphic", "crucible"}


@dataclass(frozen=True, kw_only=True)
class Subcommand:
    """A subcommand, and the module whose `dispatch_subcommand` takes its arguments."""

    name: str
    purpose: str
    module: str
    extra: str  # what `pip install v2x-crucible[...]` brings its packages
    takes_name: bool = (
        True  # whether the module's `dispatch_subcommand` has subcommands, of which it is one
    )


def make_subcommands(module: str, extra: str, **purposes: str) -> tuple[Subcommand, ...]:
    """Return the subcommands that one module's `dispatch_subcommand` knows."""
    return tuple(
        Subcommand(name=name, purpose=purpose, module=module, extra=extra)
        for name, purpose in purposes.items()
    )


GROUPS: dict[str, tuple[Subcommand, ...]] = {
    "Campaigns": (
        Subcommand(
            name="run",
            purpose="run a campaign, or resume it: group=choice and setting=value",
            module="crucible.run",
            extra="run",
            takes_name=False,
        ),
        *make_subcommands(
            "harness.__main__",
            "run",
            status="progress of a campaign, and what failed",
            twin="drive an attempt again, unchanged or with a changed disturbance",
            attribute="find out by twins whether and when a violation needed the disturbance",
            export="pass the results on to TensorBoard, MLflow or Weights & Biases",
        ),
        Subcommand(
            name="critical",
            purpose="find the size of a disturbance at which the outcome of a drive flips",
            module="crucible.critical",
            extra="run,learn,analysis",
            takes_name=False,
        ),
    ),
    "Studies": (
        *make_subcommands(
            "harness.__main__",
            "run",
            pack="write campaigns into one small file, from which all tables are made again",
            unpack="make campaign folders of packed files, for all commands of analysis",
        ),
        Subcommand(
            name="verify",
            purpose="drive a sample of a published study again, and compare",
            module="crucible.verify",
            extra="run,analysis",
            takes_name=False,
        ),
        Subcommand(
            name="reference",
            purpose="write the file by which others verify a study",
            module="crucible.reference",
            extra="run,analysis",
            takes_name=False,
        ),
    ),
    "Routes and simulators": (
        *make_subcommands(
            "crucible.routes", "run,analysis", routes="list, check, plot and generate routes"
        ),
        *make_subcommands(
            "harness.__main__",
            "run",
            maps="save, generate and check towns' maps",
            doctor="check which packages, files and simulators this machine has",
        ),
        Subcommand(
            name="serve",
            purpose="carlite: a CARLA server without a GPU",
            module="harness.carlite.__main__",
            extra="carlite",
            takes_name=False,
        ),
    ),
    "Systems": (
        Subcommand(
            name="check",
            purpose="check a plug-in of your own: a system, metric, hazard, disturbance, ...",
            module="crucible.check",
            extra="run,learn",
            takes_name=False,
        ),
        *make_subcommands(
            "agents.training.__main__",
            "run,learn",
            collect="record scenes to train on",
            train="train the network of a fusion scheme",
            evaluate="measure how well weights detect, with and without disturbances",
            networks="print evaluations of networks side by side, with intervals",
        ),
        *make_subcommands(
            "metamorphic.commandline",
            "run,learn",
            metamorphic="change recorded scenes, and find what must not change in the answers",
        ),
    ),
    "Search": (
        *make_subcommands(
            "metamorphic.search.commandline",
            "run,learn,search",
            search="search for disturbances and hazards under which a system fails, or resume it",
            confirm="drive a search's findings again with other seeds, and list what is confirmed",
            shrink="find the smallest values at which a finding still happens",
            curves="print confirmed failures of several searches against budget",
        ),
        Subcommand(
            name="rate",
            purpose="estimate how often a system fails under disturbances that are sampled",
            module="crucible.rate",
            extra="run,learn,analysis",
            takes_name=False,
        ),
    ),
    "Analysis": make_subcommands(
        "analysis.__main__",
        "analysis",
        report="write results, figures and violations as one HTML page",
        tables="print tables of campaigns, with confidence intervals",
        regress="regress violations on the six error patterns",
        predict="predict violations from error patterns and surrogates, on held-out routes",
        compare="compare arms in pairs of equal route and seed",
        effects="what interventions on error patterns do to drives, in pairs",
        errors="measure a system's errors under a condition, to inject them",
        power="power of a comparison by numbers of routes and seeds",
        calibrate="false alarm rates of the analysis, by simulation",
        replay="show one attempt: pictures, film, Rerun recording, point clouds",
    ),
    "Shell": (
        Subcommand(
            name="completion",
            purpose="print a script for bash, zsh or fish that completes command lines",
            module="crucible.completion",
            extra="run",
            takes_name=False,
        ),
    ),
}
SUBCOMMANDS = {subcommand.name: subcommand for group in GROUPS.values() for subcommand in group}
FIRST_EXAMPLES = """examples:
  crucible run                                        four routes, three arms
  crucible run study=demo out=runs/demo               the same command again resumes it
  crucible status runs/demo
  crucible report runs/demo
  crucible serve --port 2000
"""


def dispatch_subcommand(arguments: Sequence[str]) -> int:
    """Run one subcommand; bad input is one line and exit code 2."""
    name, rest = (arguments[0], list(arguments[1:])) if arguments else ("--help", [])
    if name in {"-h", "--help", "help"}:
        print(format_help())
        return 0 if arguments else BAD_INPUT
    if name in {"-V", "--version"}:
        print(f"crucible {version('v2x-crucible')}")
        return 0
    chosen = SUBCOMMANDS.get(name)
    if chosen is None:
        from harness.suggestions import describe_unknown_name  # noqa: PLC0415 - nothing else here needs it

        print(
            f"crucible: {describe_unknown_name('subcommand', name, SUBCOMMANDS)}", file=sys.stderr
        )
        return BAD_INPUT
    try:
        return run_subcommand(chosen, rest)
    except ModuleNotFoundError as problem:
        module = problem.name or ""
        if module.partition(".")[0] in PACKAGES:
            raise
        from harness.installation import format_missing_package  # noqa: PLC0415 - nothing else here needs it

        print(f"crucible {name}: {format_missing_package(module, chosen.extra)}", file=sys.stderr)
        return BAD_INPUT


def run_subcommand(chosen: Subcommand, arguments: list[str]) -> int:
    """Import the module of a subcommand, call it, and return its exit code."""
    program = "crucible" if chosen.takes_name else f"crucible {chosen.name}"
    passed = [chosen.name, *arguments] if chosen.takes_name else arguments
    main_of_module = import_module(chosen.module).main
    try:
        code: int = main_of_module(passed, program)
    except SystemExit as ending:
        if ending.code == 0 and HELP.intersection(arguments):
            print(format_examples(chosen.name, arguments[0]), flush=True)
        raise
    except KeyboardInterrupt:
        why = "interrupted; files written so far are complete"
        print(f"crucible {chosen.name}: {why}", file=sys.stderr)
        return INTERRUPTED
    return code


def format_help() -> str:
    """Return what `crucible --help` prints."""
    width = max(map(len, SUBCOMMANDS))
    lines = ["usage: crucible SUBCOMMAND ...", "", "Closed-loop tests of cooperative driving.", ""]
    for group, subcommands in GROUPS.items():
        lines.append(f"{group}:")
        lines += [
            f"  {subcommand.name:<{width}}  {subcommand.purpose}" for subcommand in subcommands
        ]
        lines.append("")
    last = "`crucible SUBCOMMAND --help` lists its options and has examples."
    return "\n".join([*lines, FIRST_EXAMPLES, last])
