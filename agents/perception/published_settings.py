"""V2Xverse's and OpenCOOD's `config.yaml`: numpy's numbers in it are read, nothing is executed.

Their trainers dump settings with whatever numpy and Python objects are in them, as instructions for
building those objects. Here the few that are plain data are read as data; any other is refused.
They write a list that two settings share as an alias, so aliases are read while they stand for
little.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from harness.common.errors import UserError
from harness.common.nesting import check_yaml
from harness.common.safe_reading import SETTINGS_FILE, read_text_within

PYTHON = "tag:yaml.org,2002:python/"
KINDS = "biuf"
"""Numpy's kinds of numbers: truth values, integers, unsigned ones, floats."""


class PlainLoader(yaml.SafeLoader):
    """Reads plain data, tuples as lists, and numpy's numbers as what they are worth."""


def read_settings(path: Path) -> dict[str, Any]:
    """Return the settings in a file.

    Args:
        path: the file.

    Returns:
        Plain data: numbers, texts, lists and dictionaries.

    Raises:
        UserError: the file cannot be read, or would have to be executed.
    """
    try:
        text = read_text_within(path, SETTINGS_FILE)
        check_yaml(text, aliases=True)
        settings = yaml.load(text, PlainLoader)
    except OSError as problem:
        raise UserError(f"{path}: {problem.strerror}") from None
    except (yaml.YAMLError, ValueError, TypeError, LookupError, RecursionError) as problem:
        # the parser names no file, so its place of a file is left out
        why = " ".join(str(problem).replace(' in "<unicode string>",', "").split())
        raise UserError(f"{path}: cannot be read as settings: {why}") from None
    if not isinstance(settings, dict):
        raise UserError(f"{path}: settings by name are needed")
    return settings


def construct_items(loader: PlainLoader, node: yaml.Node) -> list[Any]:
    """Return a tuple's items, or the arguments of an instruction."""
    if isinstance(node, yaml.SequenceNode):
        return list(loader.construct_sequence(node, deep=True))
    if isinstance(node, yaml.MappingNode):
        return list(loader.construct_mapping(node, deep=True).get("args", []))
    raise build_yaml_error(node, "has no items")


def construct_number_type(loader: PlainLoader, node: yaml.Node) -> np.dtype[Any]:
    """Return a numpy type of numbers."""
    parts = loader.construct_mapping(node, deep=True) if isinstance(node, yaml.MappingNode) else {}
    name, order = str(parts["args"][0]), parts.get("state", [None, "|"])[1]
    # only numbers: types of objects could hide code
    kind = np.dtype(name) if name[1:].isdigit() and name[0] in KINDS else None
    if kind is None or kind.kind not in KINDS:
        raise build_yaml_error(node, f"names {name!r}, which is no type of numbers")
    return kind.newbyteorder(order if order in ("<", ">") else "=")


def construct_scalar(loader: PlainLoader, node: yaml.Node) -> Any:
    """Return a numpy number as a plain one."""
    kind, content = construct_items(loader, node)
    if not isinstance(kind, np.dtype) or not isinstance(content, bytes):
        raise build_yaml_error(node, "is no number")
    return np.frombuffer(content, kind, count=1)[0].item()


def construct_array(loader: PlainLoader, node: yaml.Node) -> Any:
    """Return a numpy array as a list."""
    if not isinstance(node, yaml.MappingNode):
        raise build_yaml_error(node, "is no array of numbers")
    state = loader.construct_mapping(node, deep=True)["state"]
    _, shape, kind, columns_first, content = state
    if not isinstance(kind, np.dtype) or not isinstance(content, bytes):
        raise build_yaml_error(node, "is no array of numbers")
    numbers = np.frombuffer(content, kind)
    return numbers.reshape(shape, order="F" if columns_first else "C").tolist()


def construct_ordered_dict(loader: PlainLoader, node: yaml.Node) -> dict[Any, Any]:
    """Return an ordered dictionary as a plain one."""
    given = construct_items(loader, node)
    return dict(given[0]) if given else {}


def refuse_instruction(loader: PlainLoader, node: yaml.Node) -> Any:
    """Build nothing."""
    raise build_yaml_error(node, "is not read: it would have to be executed")


def build_yaml_error(node: yaml.Node, why: str) -> yaml.YAMLError:
    """Return the error for one place of a file."""
    tag = str(node.tag).removeprefix(PYTHON)
    return yaml.YAMLError(f"line {node.start_mark.line + 1}: {tag} {why}")


for module in ("numpy.core.multiarray", "numpy._core.multiarray"):
    PlainLoader.add_constructor(f"{PYTHON}object/apply:{module}.scalar", construct_scalar)
    PlainLoader.add_constructor(f"{PYTHON}object/apply:{module}._reconstruct", construct_array)
PlainLoader.add_constructor(f"{PYTHON}object/apply:numpy.dtype", construct_number_type)
PlainLoader.add_constructor(f"{PYTHON}object/apply:collections.OrderedDict", construct_ordered_dict)
PlainLoader.add_constructor(f"{PYTHON}tuple", construct_items)
PlainLoader.add_constructor(f"{PYTHON}name:numpy.ndarray", lambda _loader, _node: "ndarray")
PlainLoader.add_constructor(None, refuse_instruction)
