"""The towns at the command line.

build   writes the OpenDRIVE files of our own towns from their plans, or checks them
list    prints what each town has
draw    draws each town from above, and one LiDAR sweep in it
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from harness.carlite.errors import UserError
from harness.carlite.labels import SemanticLabel
from harness.carlite.towns import load_town
from harness.carlite.towns.model import LaneKind, Town
from tools.authoring import shipped_towns as authoring

COLUMNS = "| town | extent, m | height, m | streets, km | driving lanes, km | junctions (lights) |"
MORE = " crosswalks | lights, signs | buildings | parked cars | trees |"


def run_authoring_command(arguments: list[str] | None = None) -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.authoring",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=("build", "list", "draw"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="towns; all of our own if none")
    parser.add_argument("--check", action="store_true", help="build: compare instead of writing")
    parser.add_argument("--maps", type=Path, metavar="DIR", help="where other OpenDRIVE files lie")
    parser.add_argument("--out", type=Path, default=Path("docs/images"), help="draw: where to")
    asked = sys.argv[1:] if arguments is None else arguments
    options = parser.parse_args(["draw" if word == "--draw" else word for word in asked])
    names = options.names or list(authoring.PLANS)
    try:
        if options.command == "build":
            build_town_files(names, options.check)
        elif options.command == "list":
            print_town_table([load_town(name, options.maps) for name in names])
        else:
            render_town_pictures(names, options.maps, options.out)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def build_town_files(names: list[str], check: bool) -> None:
    """Write the towns' files, or only compare them with what the plans give."""
    for name in names:
        if name not in authoring.PLANS:
            raise UserError(f"unknown town {name}; valid: {', '.join(authoring.PLANS)}")
        path = authoring.DATA / f"{name}.xodr"
        text = authoring.write_town_opendrive(name)
        if not check:
            path.write_text(text, encoding="utf-8", newline="\n")
        elif not path.is_file() or path.read_bytes() != text.encode():
            raise UserError(f"{path.name} is not what its plan gives; build {name} again")
        print(f"{name}: {len(text) / 1e3:.0f} kB{' as planned' if check else ''}")


def print_town_table(towns: list[Town]) -> None:
    """Print a table of what the towns have."""
    print(COLUMNS + MORE)
    print("|---" * (COLUMNS + MORE).count(" |") + "|")
    for town in towns:
        print(f"| {' | '.join(_make_town_row(town))} |")


def _make_town_row(town: Town) -> list[str]:
    lanes, labels = town.lanes, town.scenery.label
    # (lanes,) and (pieces,) what the columns count
    outside = (lanes.kind == LaneKind.DRIVING) & (lanes.junction < 0)
    width, depth = np.ptp(lanes.points[:, :2], axis=0)
    inner = np.abs(lanes.key[:, 2]) == 1
    streets = lanes.length[inner & (lanes.junction < 0)].sum() / 2
    lights = [signal for signal in town.signals if signal.type_id == "traffic.traffic_light"]
    trunks = (labels == SemanticLabel.VEGETATION) & town.scenery.solid & (town.scenery.shape == 1)
    return [
        town.name,
        f"{width:.0f} by {depth:.0f}",
        f"{np.ptp(lanes.points[:, 2]):.1f}",
        f"{streets / 1000:.2f}",
        f"{lanes.length[outside].sum() / 1000:.2f}",
        f"{len(np.unique(lanes.junction[lanes.junction >= 0]))} "
        f"({len({signal.group for signal in lights})})",
        f"{len(town.crosswalks)}",
        f"{len(lights)}, {len(town.signals) - len(lights)}",
        *(f"{(labels == label).sum()}" for label in (SemanticLabel.BUILDING, SemanticLabel.CAR)),
        f"{trunks.sum()}",
    ]


def render_town_pictures(names: list[str], maps: Path | None, folder: Path) -> None:
    """Draw every town from above, and a LiDAR sweep in its traffic."""
    from tools.authoring.plan_view import render_plan_view  # noqa: PLC0415  matplotlib is optional
    from tools.authoring.sweep_view import render_sweep_view  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        town = load_town(name, maps)
        render_plan_view(town, folder / f"{town.name}.png")
        render_sweep_view(town, folder / f"{town.name}-lidar.png")
        print(f"{town.name}: {folder / town.name}.png, {folder / town.name}-lidar.png")


if __name__ == "__main__":
    sys.exit(run_authoring_command())
