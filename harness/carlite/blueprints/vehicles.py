"""Vehicles: the ones CARLA 0.9.16 ships, with the sizes of their bounding boxes there.

Kerb masses are those of the real models, rounded; CARLA's fictional vehicles get the mass of a
real one of their class. Why the sizes are CARLA's, not the cars': decision 0038.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from harness.carlite.actors import ActorKind
from harness.carlite.blueprints.model import (
    ActorAttribute,
    ActorBlueprint,
    AttributeType,
    format_blueprint_tags,
    make_choice_attribute,
    make_fixed_attribute,
    make_role_attribute,
)
from harness.carlite.blueprints.walkers import RIDERS
from harness.carlite.labels import SemanticLabel

PAINTS = ("255,255,255", "17,37,103", "0,0,0", "137,0,0", "85,85,90", "155,155,160", "68,134,50")
"""Colours offered to the client, the default first."""

LABELS = {
    "car": SemanticLabel.CAR,
    "van": SemanticLabel.CAR,
    "truck": SemanticLabel.TRUCK,
    "bus": SemanticLabel.BUS,
    "motorcycle": SemanticLabel.MOTORCYCLE,
    "bicycle": SemanticLabel.BICYCLE,
}


@dataclass(frozen=True)
class VehicleModel:
    """One row of the catalogue: sizes are full length, width and height in metres.

    Where mirrors make CARLA's box much wider than the body, `body_width` is that of the body.
    """

    id: str
    base: str
    body: str
    size: tuple[float, float, float]
    _: KW_ONLY
    mass: float
    generation: int = 1
    special: str = ""
    painted: bool = True
    lights: bool = False
    doors: bool = False
    body_width: float | None = None


_MODELS = (
    VehicleModel("audi.a2", "car", "compact", (3.705, 1.789, 1.549), mass=940),
    VehicleModel("audi.etron", "car", "suv", (4.856, 2.033, 1.649), mass=2490,
          special="electric", lights=True),
    VehicleModel("audi.tt", "car", "coupe", (4.181, 1.994, 1.385), mass=1410, lights=True),
    VehicleModel("bmw.grandtourer", "car", "suv", (4.611, 2.242, 1.667), mass=1480),
    VehicleModel("chevrolet.impala", "car", "sedan", (5.357, 2.033, 1.411), mass=1660, lights=True),
    VehicleModel("citroen.c3", "car", "compact", (3.988, 1.851, 1.617), mass=1050),
    VehicleModel("dodge.charger_2020", "car", "sedan", (5.008, 1.882, 1.535), mass=1880,
        generation=2,
          lights=True, doors=True),
    VehicleModel("dodge.charger_police", "car", "sedan", (4.974, 2.038, 1.542), mass=1940,
          special="emergency", painted=False, lights=True),
    VehicleModel("dodge.charger_police_2020", "car", "sedan", (5.238, 1.930, 1.638), mass=1960,
          generation=2, special="emergency", painted=False, lights=True, doors=True),
    VehicleModel("ford.crown", "car", "sedan", (5.366, 1.801, 1.575), mass=1780, generation=2,
          special="taxi", lights=True, doors=True),
    VehicleModel("ford.mustang", "car", "coupe", (4.718, 1.895, 1.301), mass=1460, lights=True),
    VehicleModel("jeep.wrangler_rubicon", "car", "offroad", (3.866, 1.905, 1.878), mass=1880),
    VehicleModel("lincoln.mkz_2017", "car", "sedan", (4.902, 2.128, 1.511), mass=1700, lights=True),
    VehicleModel("lincoln.mkz_2020", "car", "sedan", (4.892, 1.837, 1.490), mass=1696, generation=2,
          lights=True, doors=True),
    VehicleModel("mercedes.coupe", "car", "coupe", (5.027, 2.152, 1.651), mass=1890),
    VehicleModel("mercedes.coupe_2020", "car", "coupe", (4.674, 1.812, 1.442), mass=1660,
        generation=2,
          lights=True, doors=True),
    VehicleModel("micro.microlino", "car", "microcar", (2.207, 1.481, 1.376), mass=510,
          special="electric"),
    VehicleModel("mini.cooper_s", "car", "compact", (3.806, 1.970, 1.475), mass=1210),
    VehicleModel("mini.cooper_s_2021", "car", "compact", (4.553, 2.097, 1.767), mass=1330,
        generation=2,
          lights=True, doors=True),
    VehicleModel("nissan.micra", "car", "compact", (3.633, 1.845, 1.501), mass=960),
    VehicleModel("nissan.patrol", "car", "offroad", (4.605, 1.932, 1.855), mass=2440),
    VehicleModel("nissan.patrol_2021", "car", "offroad", (5.566, 2.150, 2.045), mass=2700,
        generation=2,
          lights=True, doors=True),
    VehicleModel("seat.leon", "car", "compact", (4.193, 1.816, 1.474), mass=1240),
    VehicleModel("tesla.model3", "car", "sedan", (4.792, 2.163, 1.488), mass=1845,
        special="electric",
          lights=True),
    VehicleModel("toyota.prius", "car", "sedan", (4.514, 2.007, 1.525), mass=1380),
    VehicleModel("ford.ambulance", "van", "ambulance", (6.366, 2.351, 2.431), mass=4300,
        generation=2,
          special="emergency", painted=False, lights=True, doors=True),
    VehicleModel("mercedes.sprinter", "van", "van", (5.915, 1.988, 2.561), mass=2300, generation=2,
          lights=True, doors=True),
    VehicleModel("volkswagen.t2", "van", "microbus", (4.480, 2.069, 2.038), mass=1260, lights=True),
    VehicleModel("volkswagen.t2_2021", "van", "microbus", (4.442, 1.775, 1.987), mass=1290,
        generation=2,
          lights=True, doors=True),
    VehicleModel("carlamotors.carlacola", "truck", "box_truck", (5.204, 2.627, 2.467), mass=5500,
          painted=False),
    VehicleModel("carlamotors.european_hgv", "truck", "lorry", (7.936, 2.891, 3.462), mass=9000,
          generation=2, lights=True, doors=True),
    VehicleModel("carlamotors.firetruck", "truck", "firetruck", (8.468, 2.891, 3.827), mass=14000,
          generation=2, special="emergency", painted=False, lights=True, doors=True),
    VehicleModel("tesla.cybertruck", "truck", "pickup", (6.274, 2.390, 2.098), mass=3000,
        generation=2,
          special="electric", painted=False, lights=True),
    VehicleModel("mitsubishi.fusorosa", "bus", "bus", (10.273, 3.944, 4.253), mass=9500,
        generation=2,
          painted=False, lights=True, doors=True, body_width=2.5),
    VehicleModel("harley-davidson.low_rider", "motorcycle", "motorcycle", (2.350, 0.766, 1.649),
        mass=375),
    VehicleModel("kawasaki.ninja", "motorcycle", "motorcycle", (2.044, 0.797, 1.523), mass=270),
    VehicleModel("vespa.zx125", "motorcycle", "scooter", (1.817, 0.866, 1.590), mass=190),
    VehicleModel("yamaha.yzf", "motorcycle", "motorcycle", (2.191, 0.866, 1.530), mass=275),
    VehicleModel("bh.crossbike", "bicycle", "bicycle", (1.509, 0.866, 1.612), mass=90),
    VehicleModel("diamondback.century", "bicycle", "bicycle", (1.656, 0.582, 1.620), mass=85),
    VehicleModel("gazelle.omafiets", "bicycle", "bicycle", (1.843, 0.659, 1.776), mass=98),
)  # fmt: skip


def list_vehicle_blueprints() -> list[ActorBlueprint]:
    """Return the vehicle blueprints, in the order of the catalogue."""
    return [_make_vehicle_blueprint(model) for model in _MODELS]


def _make_vehicle_blueprint(model: VehicleModel) -> ActorBlueprint:
    two_wheeled = model.base in ("motorcycle", "bicycle")
    length, width, height = model.size
    blueprint_id = f"vehicle.{model.id}"
    return ActorBlueprint(
        id=blueprint_id,
        tags=format_blueprint_tags(blueprint_id),
        attributes=tuple(_make_vehicle_attributes(model, two_wheeled)),
        kind=ActorKind.VEHICLE,
        label=LABELS[model.base],
        extent=(length / 2, width / 2, height / 2),
        box_centre=(0.0, 0.0, height / 2),
        mass=model.mass,
        body=model.body,
        wheels=2 if two_wheeled else 4,
        mirrors=0.0 if model.body_width is None else (width - model.body_width) / 2,
    )


def _make_vehicle_attributes(model: VehicleModel, two_wheeled: bool) -> list[ActorAttribute]:
    text, number, flag = AttributeType.STRING, AttributeType.INT, AttributeType.BOOL
    attributes = [make_role_attribute("autopilot", "scenario", "ego_vehicle")]
    if model.painted:
        attributes.append(make_choice_attribute("color", AttributeType.COLOUR, *PAINTS))
    if two_wheeled:
        attributes.append(make_choice_attribute("driver_id", number, *RIDERS, restrict=True))
    return [
        *attributes,
        make_choice_attribute("sticky_control", flag, "true"),
        make_choice_attribute("terramechanics", flag, "false"),
        make_fixed_attribute("object_type", text, ""),
        make_fixed_attribute("base_type", text, model.base),
        make_fixed_attribute("special_type", text, model.special),
        make_fixed_attribute("number_of_wheels", number, "2" if two_wheeled else "4"),
        make_fixed_attribute("generation", number, str(model.generation)),
        make_fixed_attribute("has_dynamic_doors", flag, str(model.doors).lower()),
        make_fixed_attribute("has_lights", flag, str(model.lights).lower()),
    ]
