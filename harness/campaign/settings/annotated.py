"""A configuration as it is printed: what every setting means stands behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_type_hints, is_typeddict

import yaml

from harness.campaign.settings.config import find_class
from harness.campaign.settings.declared import CampaignSettings
from harness.common.errors import UserError
from harness.common.field_notes import read_class_comments


def annotate_settings(text: str) -> str:
    """Return a configuration in YAML with a comment behind each setting that has one."""
    root = yaml.compose(text)
    notes = (
        dict(iter_setting_notes(root, "", collect_notes_by_place(CampaignSettings)))
        if isinstance(root, yaml.MappingNode)
        else {}
    )
    lines = text.splitlines()
    return "\n".join(
        f"{line}  # {notes[row]}" if row in notes else line for row, line in enumerate(lines)
    )


def iter_setting_notes(
    node: yaml.Node, place: str, known: Mapping[str, str]
) -> Iterator[tuple[int, str]]:
    """Yield the rows of settings and what they mean."""
    if isinstance(node, yaml.SequenceNode):
        for part in node.value:
            yield from iter_setting_notes(part, place, known)
    elif isinstance(node, yaml.MappingNode):
        here = {name.value: value for name, value in node.value}
        notes = read_class_notes(here, place)
        for name, value in node.value:
            inner = f"{place}.{name.value}" if place else name.value
            note = notes.get(name.value) or known.get(inner)
            if note:
                yield name.start_mark.line, note
            yield from iter_setting_notes(value, inner, known)


def read_class_notes(settings: Mapping[str, yaml.Node], place: str) -> Mapping[str, str]:
    """Return the notes of the class that a group of settings names, if it can be loaded."""
    target = settings.get("_target_")
    if target is None:
        return {}
    try:
        return read_class_comments(find_class(target.value, place))
    except UserError:
        return {}


def collect_notes_by_place(group: type[Any], place: str = "") -> dict[str, str]:
    """Return what settings mean by their places, those of groups within the group too."""
    notes = {f"{place}{name}": note for name, note in read_class_comments(group).items()}
    for name, hint in get_type_hints(group).items():
        if is_typeddict(hint):
            notes |= collect_notes_by_place(hint, f"{place}{name}.")
    return notes
