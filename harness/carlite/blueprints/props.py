"""Props: CARLA's `static.prop.*`, with the sizes of their bounding boxes there."""

from __future__ import annotations

from collections.abc import Sequence

from harness.carlite.actors import ActorKind
from harness.carlite.blueprints.model import (
    ActorBlueprint,
    AttributeType,
    format_blueprint_tags,
    make_fixed_attribute,
    make_role_attribute,
)
from harness.carlite.labels import SemanticLabel

_FIXED = {
    "advertisement": ("panel", 1.549, 0.287, 2.443),
    "aporosatree": ("tree", 12.958, 12.585, 15.633),
    "atm": ("cabinet", 0.713, 0.874, 2.276),
    "bench01": ("bench", 1.544, 0.736, 0.970),
    "bench02": ("table", 1.564, 0.545, 0.509),
    "bench03": ("table", 1.583, 0.513, 0.513),
    "busstop": ("shelter", 3.876, 1.894, 2.739),
    "busstoplb": ("shelter_across", 1.894, 3.876, 2.739),
    "calibrator": ("box", 1.548, 0.690, 0.202),
    "chainbarrier": ("barrier", 1.494, 0.239, 0.889),
    "chainbarrierend": ("post", 0.239, 0.239, 0.889),
    "clothesline": ("frame", 6.652, 1.118, 2.061),
    "coconutpalm": ("palm", 8.604, 8.886, 20.315),
    "cypresstree": ("conifer", 4.610, 4.628, 15.679),
    "fountain": ("fountain", 8.402, 8.402, 6.924),
    "gardenlamp": ("post", 0.297, 0.281, 0.648),
    "kiosk_01": ("kiosk", 1.625, 1.654, 3.245),
    "mailbox": ("cabinet", 0.527, 0.438, 1.157),
    "maptable": ("bench", 1.573, 0.617, 1.181),
    "pergola": ("frame", 5.029, 5.085, 3.542),
    "plantpot01": ("planter", 1.089, 0.476, 0.557),
    "plantpot02": ("planter", 1.051, 0.431, 0.487),
    "plantpot03": ("planter", 1.051, 0.431, 0.487),
    "plantpot04": ("box", 4.967, 0.737, 0.125),
    "plantpot05": ("planter", 0.400, 0.400, 0.280),
    "plantpot06": ("planter", 1.593, 1.593, 0.850),
    "plantpot07": ("planter", 0.495, 0.476, 0.557),
    "plantpot08": ("planter", 0.530, 0.530, 0.489),
    "slide": ("slide", 0.943, 4.122, 1.977),
    "streetfountain": ("cabinet", 0.287, 0.670, 1.259),
    "streetsign": ("sign", 1.064, 0.125, 2.154),
    "streetsign01": ("sign", 2.470, 0.303, 3.878),
    "streetsign04": ("sign", 1.171, 0.125, 2.773),
    "swing": ("frame", 4.105, 1.577, 2.572),
    "trampoline": ("barrel", 4.132, 4.132, 2.802),
    "vendingmachine": ("cabinet", 0.873, 1.102, 2.108),
}
_MOVABLE = {
    "barbeque": ("table", 0.946, 0.499, 1.264),
    "barrel": ("barrel", 0.460, 0.471, 0.807),
    "bike helmet": ("barrel", 0.186, 0.277, 0.171),
    "bin": ("bin", 0.548, 0.638, 1.059),
    "box01": ("box", 0.652, 0.652, 0.692),
    "box02": ("box", 0.649, 0.649, 0.649),
    "box03": ("box", 0.661, 0.670, 0.649),
    "briefcase": ("box", 0.543, 0.181, 0.433),
    "brokentile01": ("box", 0.134, 0.176, 0.007),
    "brokentile02": ("box", 0.210, 0.152, 0.008),
    "brokentile03": ("box", 0.154, 0.145, 0.009),
    "brokentile04": ("box", 0.130, 0.126, 0.010),
    "clothcontainer": ("container", 1.239, 1.887, 1.810),
    "colacan": ("barrel", 0.068, 0.072, 0.110),
    "constructioncone": ("cone", 0.344, 0.344, 0.586),
    "container": ("container", 1.932, 1.012, 1.714),
    "creasedbox01": ("box", 0.809, 0.713, 0.118),
    "creasedbox02": ("box", 1.633, 0.713, 0.212),
    "creasedbox03": ("box", 1.669, 0.713, 0.022),
    "dirtdebris01": ("heap", 1.857, 1.514, 0.149),
    "dirtdebris02": ("heap", 1.857, 1.514, 0.149),
    "dirtdebris03": ("heap", 1.857, 1.514, 0.188),
    "doghouse": ("kiosk", 1.079, 1.272, 1.094),
    "foodcart": ("cart", 2.285, 4.638, 3.573),
    "garbage01": ("barrel", 0.053, 0.053, 0.087),
    "garbage02": ("barrel", 0.053, 0.053, 0.009),
    "garbage03": ("barrel", 0.060, 0.059, 0.079),
    "garbage04": ("barrel", 0.057, 0.056, 0.069),
    "garbage05": ("heap", 0.232, 0.233, 0.058),
    "garbage06": ("heap", 0.366, 0.213, 0.077),
    "glasscontainer": ("container", 1.955, 2.009, 1.788),
    "gnome": ("cone", 0.367, 0.376, 0.883),
    "guitarcase": ("box", 1.242, 0.125, 0.494),
    "haybale": ("box", 1.248, 1.193, 1.195),
    "haybalelb": ("box", 1.248, 1.193, 1.195),
    "ironplank": ("box", 1.452, 1.174, 0.021),
    "mobile": ("box", 0.080, 0.007, 0.166),
    "motorhelmet": ("barrel", 0.200, 0.259, 0.258),
    "plasticbag": ("heap", 0.311, 0.403, 0.552),
    "plasticchair": ("bench", 0.730, 0.750, 1.271),
    "plastictable": ("parasol", 2.482, 2.482, 2.480),
    "platformgarbage01": ("heap", 3.633, 1.711, 0.332),
    "purse": ("box", 0.159, 0.333, 0.585),
    "shoppingbag": ("box", 0.474, 0.243, 0.601),
    "shoppingcart": ("cart", 0.669, 1.208, 1.079),
    "shoppingtrolley": ("bin", 0.506, 0.331, 1.094),
    "streetbarrier": ("barrier", 1.215, 0.372, 1.069),
    "swingcouch": ("frame", 1.357, 2.362, 2.249),
    "table": ("table", 2.156, 2.152, 0.846),
    "trafficcone01": ("cone", 0.883, 0.882, 1.133),
    "trafficcone02": ("cone", 0.456, 0.395, 1.183),
    "trafficwarning": ("sign", 2.373, 2.871, 3.570),
    "trashbag": ("heap", 0.378, 0.430, 0.702),
    "trashcan01": ("bin", 0.635, 0.568, 0.848),
    "trashcan02": ("bin", 0.524, 0.514, 1.045),
    "trashcan03": ("bin", 0.629, 0.545, 0.934),
    "trashcan04": ("bin", 0.789, 0.580, 1.016),
    "trashcan05": ("bin", 0.789, 0.580, 1.016),
    "travelcase": ("box", 0.567, 0.328, 1.263),
    "warningaccident": ("sign", 1.305, 1.055, 1.860),
    "warningconstruction": ("sign", 1.305, 1.055, 1.860),
    "wateringcan": ("barrel", 0.070, 0.194, 0.135),
}
"""Mesh and full length, width and height in metres, by name."""

_LABELS = {
    "tree": SemanticLabel.VEGETATION,
    "conifer": SemanticLabel.VEGETATION,
    "palm": SemanticLabel.VEGETATION,
}
_DENSITY = 120.0


def list_prop_blueprints() -> list[ActorBlueprint]:
    """Return the prop blueprints by name."""
    rows = [(name, row, SemanticLabel.STATIC) for name, row in _FIXED.items()]
    rows += [(name, row, SemanticLabel.DYNAMIC) for name, row in _MOVABLE.items()]
    return [
        _make_prop_blueprint(name, body, size, label) for name, (body, *size), label in sorted(rows)
    ]


def _make_prop_blueprint(
    name: str, body: str, size: Sequence[float], label: SemanticLabel
) -> ActorBlueprint:
    length, width, height = size
    blueprint_id = f"static.prop.{name}"
    return ActorBlueprint(
        id=blueprint_id,
        tags=format_blueprint_tags(blueprint_id),
        attributes=(
            make_role_attribute("prop"),
            make_fixed_attribute(
                "size", AttributeType.STRING, _choose_size_class(length, width, height)
            ),
        ),
        kind=ActorKind.PROP,
        label=_LABELS.get(body, label),
        extent=(length / 2, width / 2, height / 2),
        box_centre=(0.0, 0.0, height / 2),
        mass=max(0.1, _DENSITY * length * width * height),
        body=body,
    )


def _choose_size_class(*sides: float) -> str:
    longest = max(sides)
    steps = ((0.25, "tiny"), (0.8, "small"), (1.6, "medium"), (4.0, "big"))
    return next((name for limit, name in steps if longest < limit), "huge")
