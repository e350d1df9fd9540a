"""How a server and carlite compare, as a table."""

from __future__ import annotations

from collections import defaultdict

from rich.text import Text

from harness.campaign.printing.terminal import console
from harness.common.fitting_table import FittingTable
from harness.common.terminal_lines import print_plain_line
from harness.doctor.comparing import ServerDifference
from harness.doctor.facts import Section
from harness.doctor.probing import ServerComparison

TRIED = ("rays", "cameras")
"""Sections on the capabilities of a server."""
WORKS = "works"
SHOWN = 6
"""Differences of a section that are printed; the file has them all."""


def print_comparison(comparison: ServerComparison) -> None:
    """Print one row for each section."""
    by_section: dict[str, list[ServerDifference]] = defaultdict(list)
    for difference in comparison.differences:
        by_section[difference.section].append(difference)
    server = f"CARLA {comparison.version} at {comparison.address}"
    title = f"{server} compared with carlite, in {comparison.town}"
    table = FittingTable("what", "things", "differences", title=title, title_justify="left")
    table.columns[1].justify = "right"
    for section, things in comparison.carlite.items():
        count = max(len(things), len(comparison.other.get(section, {})))
        table.add_row(section, str(count), format_differences(by_section[section]))
    console.print(table)
    zero = list_zero_extents(comparison)
    if zero:
        print_plain_line(console, f"zero extents there: {', '.join(zero)}")
    print_plain_line(console, describe_abilities(comparison.other))
    total = len(comparison.differences)
    print_plain_line(console, "no difference" if not total else f"{total} differences")


def format_differences(differences: list[ServerDifference]) -> Text:
    """Return the first few differences of a section, and the number of the others."""
    if not differences:
        return Text("none", "green")
    lines = [str(difference) for difference in differences[:SHOWN]]
    more = len(differences) - SHOWN
    return Text(
        "\n".join([*lines, f"and {more} more (--json FILE has all)"] if more > 0 else lines)
    )


def describe_abilities(facts: dict[str, Section]) -> str:
    """Return what a server can do, and what not and why, in a line."""
    tried = [fact for name in TRIED for fact in facts.get(name, {}).items()]
    can = [name for name, values in tried if values.get(WORKS) is True]
    cannot = [
        f"{name} ({values.get('why') or values.get('with')})"
        for name, values in tried
        if values.get(WORKS) is not True
    ]
    return f"works there: {', '.join(can) or 'nothing'}; does not: {', '.join(cannot) or 'nothing'}"


def list_zero_extents(comparison: ServerComparison) -> list[str]:
    """Return the models whose box the other server reports with no size along some axis."""
    return [
        name
        for section in ("vehicles", "walkers")
        for name, values in comparison.other.get(section, {}).items()
        if values.get("zero extents") is True
    ]
