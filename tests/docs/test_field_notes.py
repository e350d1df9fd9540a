"""Every setting says its unit or what it means, once, where its class declares it."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import yaml

from harness.campaign.planning.validation import refuse_misfit
from harness.campaign.settings.annotated import annotate_settings, collect_notes_by_place
from harness.campaign.settings.declared import CampaignSettings
from harness.common.errors import UserError
from harness.common.field_notes import read_class_comments
from tests.docs.reference import CONF, by_class, class_of, read_notes, settings_of

UNIT = re.compile(
    r"(s|ppm|m|mm|mm/h|dBm|dBi|dB|GHz|m/s|m/s²|rad|degrees|pixels|%|GiB|bytes/s"
    r"|per m|of|factor|probability|share|intensity|0 to 1|least overlap ratio)\b|%"
)
QUANTITY = re.compile(
    r"(s|ppm|m|mm|mm/h|dBm|dBi|dB|GHz|m/s|m/s²|rad|degrees|%|GiB|bytes/s)(?![\w/²])"
)
FILES = sorted(CONF.glob("*/*.yaml"))


def targets() -> dict[str, type[Any]]:
    settings = (setting for file in FILES for setting in settings_of(file.read_text()))
    names = {setting.value for setting in settings if setting.path.endswith("_target_")}
    return {name: class_of(name) for name in sorted(names)}


@pytest.mark.thorough
@pytest.mark.parametrize("name", targets())
def test_every_parameter_says_what_it_is(name: str) -> None:
    named = class_of(name)
    notes = read_notes(name)
    hints = get_type_hints(named.__init__)
    for parameter in inspect.signature(named).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        assert notes.get(parameter.name), parameter.name
        if hints[parameter.name] in (float, float | None):
            assert UNIT.match(notes[parameter.name]), (parameter.name, notes[parameter.name])


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}={file.stem}")
def test_files_and_classes_agree_about_units(file: Path) -> None:
    for part in by_class(list(settings_of(file.read_text()))):
        if part[0].path.endswith("_target_"):
            notes = read_notes(part[0].value)
            for setting in part:
                unit = QUANTITY.match(notes.get(setting.path.rpartition(".")[2], ""))
                if setting.note and unit:
                    assert setting.note.startswith(unit[0]), setting


def test_everything_at_the_top_is_declared_with_a_note() -> None:
    notes = collect_notes_by_place(CampaignSettings)
    for setting in settings_of((CONF / "config.yaml").read_text()):
        # these become conditions and fleets before anything is checked
        if not setting.path.startswith(("sweep", "partners")):
            assert notes[setting.path], setting


@dataclass(frozen=True)
class First:
    """Has a field that the second one documents again."""

    speed: float  # m/s
    gap: float = 2.0  # m behind a leader
    plain: int = 1


class Second(First):
    """Documents parameters of its `__init__`."""

    def __init__(
        self,
        speed: float,  # km/h
        *,
        other: tuple[str, ...] = (),  # names
    ) -> None:
        super().__init__(speed / 3.6)
        self.other = other  # not this one


def test_notes_stand_behind_fields_and_parameters() -> None:
    assert read_class_comments(First) == {"speed": "m/s", "gap": "m behind a leader"}
    assert read_class_comments(Second) == {
        "speed": "km/h",
        "gap": "m behind a leader",
        "other": "names",
    }
    assert read_class_comments(int) == {}


TEXT = """\
tick: 0.05
unknown: 1
interference:
  none: []
  late:
  - _target_: harness.channel.interference.latency.Fixed
    seconds: 0.5
    kinds:
    - vehicle
system:
  broken:
    _target_: agents.nowhere.Nothing
    seconds: 3
"""


def test_a_printed_configuration_says_what_settings_mean() -> None:
    text = annotate_settings(TEXT)
    assert yaml.safe_load(text) == yaml.safe_load(TEXT)
    lines = text.splitlines()
    assert lines[0] == "tick: 0.05  # s"
    assert lines[1] == "unknown: 1"
    assert lines[6] == "    seconds: 0.5  # s"
    assert lines[7].startswith("    kinds:  # ")
    assert lines[-1] == "    seconds: 3"


def test_what_is_refused_says_what_it_is() -> None:
    given = {"_target_": "harness.world.traffic.Traffic", "following_distance": "far"}
    with pytest.raises(UserError, match=r"a number or null is needed \(m; null: the Traffic"):
        refuse_misfit("traffic", given)
