"""`crucible models check --scenes`: options, and a line and a record for each model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
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
from harness.common.scene_precision import FAR_BELOW, ScenePrecision, write_scene_precision
from harness.common.terminal_lines import print_plain_line


def refuse_scene_options(options: argparse.Namespace) -> None:
    """Refuse options of a measurement that do not go together, before anything is read."""
    if options.scenes is None:
        if options.root is not None or options.expected is not None or options.set:
            raise UserError("--root, --expected and --set are of a measurement: name --scenes DIR")
        return
    refuse_less_than_one(options, "most")
    if options.root is None:
        raise UserError("--scenes: name the checkout that runs the models: --root DIR")
    if options.expected is not None and not 0.0 <= options.expected <= 1.0:
        raise UserError(f"--expected {options.expected:g}: an average precision is 0 to 1")
    if not options.scenes.is_dir():
        raise UserError(f"{options.scenes}: no such folder")


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
            python=options.python,
            most=options.most,
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
    settings: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier() or name in ("root", "checkpoint", "python"):
            raise UserError(f"--set {text}: NAME=VALUE of a setting of system=opencood is needed")
        try:
            settings[name] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise UserError(f"--set {text}: the value cannot be read") from None
    return settings
