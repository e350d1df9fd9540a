"""Names of random streams are data: a stream under another name gives other samples.

So `STREAMS` lists them as the source has them, `*` for what varies. Renaming code leaves them as
they are. A new stream is added here; a name that changes here changes what campaigns drive.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("harness", "agents", "analysis", "studies", "tools", "crucible")
OPENERS = {"make_named_stream", "derive_seed", "make_random_stream", "derive_stream_seed"}
"""Functions whose first argument is a seed, and whose others are names."""
METHODS = {"random", "compute_noise_seed"}
"""Methods whose arguments are names, of what knows a seed."""
PREFIX = "_noise"
"""The attribute with a seed and the first names, where a stream is opened for every tick."""
DISTURBANCES = ROOT / "harness" / "channel" / "interference"

STREAMS = [
    "*/routes",
    "*/spots/*",
    "agent sensor/*",
    "agent sensor/*/*",
    "agent sensor/*/*/*",
    "agent sensor/*/*/ego",
    "analysis/bootstrap",
    "analysis/firth starts",
    "analysis/folds",
    "analysis/sign_flip",
    "answers",
    "attack/*/*",
    "azimuth",
    "calibrate effects/*",
    "calibrate pages/*/*",
    "calibrate/*/*",
    "chance/*",
    "changes/*/*",
    "check/*",
    "check/features",
    "check/metric",
    "check/pictures/*",
    "check/points",
    "climb/*",
    "clusters/*",
    "connected",
    "connected/*",
    "corners",
    "crowd/close",
    "crowd/driving",
    "crowd/standing",
    "decide/dry run/*",
    "decide/family",
    "decide/fixed/*",
    "decide/forecast/*",
    "decide/kind/*",
    "decide/null/*/*",
    "decide/pairs/*",
    "decide/replay/*/*",
    "decide/route/*",
    "defence/*/*",
    "direction/*",
    "driver/*",
    "drives/assignments",
    "drives/signs",
    "dropout/*",
    "dvs",
    "ego",
    "ego/*",
    "epoch/*",
    "field",
    "flow places",
    "flow weights",
    "gnss/*/*",
    "groups",
    "hazards/*",
    "hazards/phase/*",
    "highway",
    "imu/*/*",
    "insider/*",
    "interference/*/*",
    "interference/bandwidth/*",
    "interference/blur/*",
    "interference/burst_loss/*",
    "interference/channel_corruption/*",
    "interference/clock_offset/*",
    "interference/dropped_camera/*",
    "interference/feature_corruption/*",
    "interference/fog/*",
    "interference/ghosts/*",
    "interference/glare/*",
    "interference/gnss/*",
    "interference/latency/*",
    "interference/loss/*",
    "interference/miscalibration/*",
    "interference/night/*",
    "interference/own_latency/*",
    "interference/paper_code_latency/*",
    "interference/pose_error/*",
    "interference/rain/*",
    "interference/removed/*",
    "interference/snow/*",
    "interference/speedometer/*",
    "interference/stray_points/*",
    "interference/stray_returns/*",
    "interference/wet_ground/*",
    "intervention/*",
    "intervention/copies",
    "intervention/ghosts",
    "keep",
    "kitti/*",
    "lidar/*",
    "link/carla/*",
    "link/field",
    "link/radio/*",
    "link/stations",
    "link/stations/*",
    "link/trace/*/*",
    "modes/*/*/*",
    "natural/*",
    "noise/*/*",
    "null worlds",
    "offline_to_violation/folds",
    "offline_to_violation/permutations",
    "operator/*/*",
    "partner/*",
    "portrait/*",
    "power signs/*",
    "power/*/*",
    "radar/*/*",
    "rate/values/*",
    "rate/world/*",
    "redrawn/*",
    "roadside/*",
    "scenery/*/bays",
    "scenery/*/cars",
    "scenery/*/corners",
    "scenery/*/fences",
    "scenery/*/lamps",
    "scenery/*/props",
    "scenery/*/rows",
    "scenery/*/trees",
    "scenes",
    "search",
    "search/*",
    "search/curves/*",
    "search/random",
    "search/sobol",
    "search/startup",
    "second/*/*",
    "senses/*",
    "sensing/*/*",
    "sobol",
    "spawn points",
    "system",
    "system/*",
    "town plan/bends",
    "town plan/edges",
    "town plan/heights",
    "town plan/lines",
    "town plan/pockets",
    "town plan/points",
    "town plan/profiles",
    "town plan/rules",
    "town/*",
    "traffic/vehicles",
    "traffic/walkers",
    "training seeds/*",
    "v2x/*/*",
    "verify/*",
    "weather",
    "weights",
    "weights/*",
]


def names_in(tree: ast.AST) -> Iterator[str]:
    """Yield the names of the streams that a module opens."""
    given = choices(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in OPENERS:
                yield from spelt(node.args[1:], given)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in METHODS and node.args and literal(node.args[0]):
                yield from spelt(node.args, given)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            target = node.targets[0]
            if isinstance(target, ast.Attribute) and target.attr == PREFIX:
                yield from spelt([*node.value.elts[1:], ast.Name("frame")], given)


def choices(tree: ast.AST) -> dict[str, list[str]]:
    """Return the names that a comprehension goes through, by its variable."""
    return {
        ast.unparse(node.target): [text for item in node.iter.elts if (text := literal(item))]
        for node in ast.walk(tree)
        if isinstance(node, ast.comprehension) and isinstance(node.iter, ast.Tuple)
    }


def spelt(names: list[ast.expr], given: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the names that arguments spell."""
    parts = [
        [literal(name) or "*"] if not isinstance(name, ast.Name) else given.get(name.id) or ["*"]
        for name in names
    ]
    yield from map("/".join, product(*parts))


def literal(name: ast.expr) -> str | None:
    """Return a name that stands in the source."""
    return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else None


def disturbances_in(tree: ast.AST) -> Iterator[str]:
    """Yield the names of a module's disturbances, which are part of their streams' names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for line in node.body:
                if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "name":
                    yield f"interference/{literal(line.value)}/*"


def streams() -> list[str]:
    """Return the names of all streams."""
    names = set[str]()
    for path in (path for room in PACKAGES for path in (ROOT / room).rglob("*.py")):
        tree = ast.parse(path.read_text())
        names |= {*names_in(tree)}
        if path.is_relative_to(DISTURBANCES):
            names |= {*disturbances_in(tree)}
    return sorted(name for name in names if set(name) - set("*/"))


def test_the_names_of_random_streams_are_those_of_the_list() -> None:
    assert streams() == STREAMS
