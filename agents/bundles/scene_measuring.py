"""`crucible models check --scenes`: options, and a line and a record for each model."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from agents.bundles.bundle import (
    MEASURABLE,
    ExpectedPrecision,
    ModelBundle,
    find_expected_precision,
)
from agents.bundles.bundle_check import CheckedBundle
from agents.commandline import refuse_less_than_one
from harness.common.console import make_console
from harness.common.errors import UserError
from harness.common.given_places import refuse_absent_folder
from harness.common.scene_precision import FAR_BELOW, ScenePrecision, write_scene_precision
from harness.common.suggestions import describe_unknown_name
from harness.common.terminal_lines import print_plain_line

OF_A_MEASUREMENT = ("root", "python", "most", "expected", "set")
"""Options that mean something with `--scenes` only."""
OF_THE_OPTIONS = ("checkpoint", "root", "python")
"""Settings of `system=opencood` that the command's arguments and options give."""
PYTHON, MOST = "python", 200
"""The interpreter, and the frames that are measured, unless the user says otherwise."""


def refuse_scene_options(options: argparse.Namespace) -> None:
    """Refuse options of a measurement that are wrong, before any model is read."""
    if options.most is not None:
        refuse_less_than_one(options, "most")
    if options.expected is not None and not 0.0 <= options.expected <= 1.0:
        raise UserError(f"--expected {options.expected:g}: an average precision is 0 to 1")
    settings = parse_given_settings(options.set)
    if options.scenes is None:
        given = [
            f"--{name}" for name in OF_A_MEASUREMENT if getattr(options, name) not in (None, [])
        ]
        if given:
            which = ", ".join(given)
            raise UserError(f"{which}: for a measurement, which needs --scenes DIR and --root DIR")
        return
    if options.root is None:
        raise UserError("--scenes: name the checkout that runs the models: --root DIR")
    refuse_absent_folder(options.scenes, "--scenes")
    refuse_absent_folder(Path(options.root).expanduser(), "--root")
    refuse_unusable_checkout(options, settings)


def refuse_unusable_checkout(options: argparse.Namespace, settings: Mapping[str, Any]) -> None:
    """Refuse what `system=opencood` would refuse, and a folder without scenes."""
    from agents.opencood.checkpoint import (  # noqa: PLC0415
        refuse_absent_python,
        refuse_wrong_numbers,
        resolve_checkout,
    )
    from agents.training.bundle_precision import open_scenes  # noqa: PLC0415 - torch

    with name_option("--root"):
        resolve_checkout(options.root)
    with name_option("--python"):
        refuse_absent_python(options.python or PYTHON)
    with name_option("--set"):
        refuse_wrong_numbers(settings)
    open_scenes(options.scenes)


@contextmanager
def name_option(option: str) -> Iterator[None]:
    """Put an option in front of what a setting of a system is refused for."""
    try:
        yield
    except UserError as problem:
        why = str(problem).removeprefix("system: ").removeprefix("python: ")
        raise UserError(f"{option}: {why}") from None


def measure_bundles(options: argparse.Namespace, checked: Sequence[CheckedBundle]) -> None:
    """Measure each sound bundle on the scenes, print a line for it, and write its record."""
    from agents.training.bundle_precision import measure_scene_precision  # noqa: PLC0415 - torch

    console = make_console()
    settings = parse_given_settings(options.set)
    bundles = select_measurable(options, checked, console)
    for bundle in bundles:
        expected = find_expected_precision(bundle)
        if options.expected is not None:
            expected = ExpectedPrecision(options.expected, "--expected")
        known = measure_scene_precision(
            bundle,
            options.scenes,
            root=options.root,
            python=options.python or PYTHON,
            most=options.most or MOST,
            expected=expected,
            settings=settings,
        )
        file = write_scene_precision(bundle.folder, known)
        for line in (*describe_measurement(known), f"written to {file}"):
            print_plain_line(console, f"{bundle.name}: {line}")


def select_measurable(
    options: argparse.Namespace, checked: Sequence[CheckedBundle], console: Console
) -> list[ModelBundle]:
    """Return the sound bundles of a form that is measured; a line names each other one."""
    sound = [one.bundle for one in checked if one.bundle and one.verdict != "failed"]
    measurable = [bundle for bundle in sound if bundle.form in MEASURABLE]
    for bundle in sound:
        if bundle not in measurable:
            line = f"{bundle.name}: not measured: only {', '.join(MEASURABLE)} are"
            print_plain_line(console, line)
    if not measurable:
        raise UserError(f"--scenes: {options.folder} has no sound model of a form that is measured")
    if options.expected is not None and len(measurable) > 1:
        raise UserError(f"--expected: {len(measurable)} models; check the one that it is of")
    return measurable


def describe_measurement(known: ScenePrecision) -> list[str]:
    """Return what was measured, and what it says."""
    lines = [f"{known.describe_precision()}; {known.rule}"]
    if known.expected is None:
        lines.append("no eval*.yaml and no --expected to compare with")
    elif known.far_below:
        lines.append(f"far below: less than {100 * FAR_BELOW:g} % of it; plans and reports say so")
    return lines


def parse_given_settings(given: Sequence[str]) -> dict[str, Any]:
    """Return settings that are given as NAME=VALUE, each value as YAML has it."""
    from agents.opencood.system import OpenCood  # noqa: PLC0415 - only for a measurement

    named = (*OF_THE_OPTIONS, "self", "driving")
    known = [name for name in signature(OpenCood.__init__).parameters if name not in named]
    settings: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UserError(f"--set {text}: NAME=VALUE is needed, such as lift=0.1")
        if name in OF_THE_OPTIONS:
            raise UserError(f"--set {text}: DIR, --root and --python say this")
        if name not in known:
            raise UserError(f"--set: {describe_unknown_name('setting', name, known)}")
        try:
            settings[name] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise UserError(f"--set {text}: the value cannot be read") from None
    return settings
