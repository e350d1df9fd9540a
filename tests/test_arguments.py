"""Calls name their arguments from the fifth on."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.test_house import HOUSES, ROOT

MANY_ARGUMENTS = {
    *("zip", "suppress", "struct.pack", "build_module_command", "table.add_row"),
    *("render_tag", "render_section", "render_paragraph", "brush.text", "scale_sign_points"),
    *("FittingTable", "refuse_less_than_one", "get_number_setting", "get_number_list"),
    *("make_named_stream", "_build_record_schema", "RayFan", "casting.cast_single_rays"),
    *("rasterise_ground", "rasterise_things", "calls.accept_calls", "calls.refuse_calls"),
    *("move_attached_actors", "snapshot.write_lights"),
}
"""What may be called with five positional arguments or more: any number, columns, arrays."""


def positional_calls(path: Path) -> list[str]:
    """Return the calls of a module with five or more positional arguments, by line."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node.func)}"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and sum(not isinstance(argument, ast.Starred) for argument in node.args) >= 5
    ]


def excepted_files(rule: str) -> set[Path]:
    """Return the files outside tests/ that pyproject.toml excepts from a rule of ruff."""
    text = (ROOT / "pyproject.toml").read_text()
    names = re.findall(rf'^"([^"]+)" = \[.*"{rule}".*\]', text, re.MULTILINE)
    names = [name for name in names if not name.startswith("tests/")]
    before_after = [re.split(r"\{.*\}", name) for name in names]
    return {
        ROOT / name if len(ends) == 1 else ROOT / f"{ends[0]}{choice}{ends[1]}"
        for name, ends in zip(names, before_after, strict=True)
        for choice in re.sub(r".*\{(.*)\}.*", r"\1", name).split(",")
    }


@pytest.mark.thorough
def test_arguments_are_named_from_the_fifth_on() -> None:
    """Outside numeric kernels, which pyproject.toml excepts from PLR0917."""
    kernels = excepted_files("PLR0917")
    assert len(kernels) > 30
    assert all(path.is_file() for path in kernels)
    modules = [
        path
        for room in HOUSES
        for path in (ROOT / room).rglob("*.py")
        if path not in kernels and path.name != "v2xvit.py"
    ]
    calls = [call for path in modules for call in positional_calls(path)]
    others = [call for call in calls if call.rpartition(": ")[2] not in MANY_ARGUMENTS]
    assert others == []
