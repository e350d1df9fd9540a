"""How each vehicle drives: what CARLA gives it where that is published, by CARLA's ids.

`PUBLISHED` holds CARLA's own numbers; docs/explanation/dynamics.md says where each is from and
which are fitted. All other vehicles have the engine of the MKZ in proportion to their mass;
their wheelbases are those of the real models, since CARLA's are not published.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.carlite.dynamics.control import Curve, GearPhysicsControl


@dataclass(frozen=True, kw_only=True)
class EngineModel:
    """Engine and gearbox; the damping rates are PhysX's for all of them."""

    torque_curve: Curve
    max_rpm: float
    final: float
    gears: tuple[GearPhysicsControl, ...]
    switch_time: float
    moi: float = 1.0
    damping: tuple[float, float, float] = (0.15, 2.0, 0.35)
    clutch: float = 10.0


def _make_gears(
    ratios: tuple[float, ...], down: float, up: float
) -> tuple[GearPhysicsControl, ...]:
    return tuple(GearPhysicsControl(ratio, down, up) for ratio in ratios)


SHIFT_DOWN, SHIFT_UP, SWITCH_TIME = 0.2272, 0.4603, 0.168
"""Fitted to the MKZ's records: when it shifts and for how long."""

RECORDED_SWITCH_TIME = 0.105
"""Seconds in neutral: the mean of 20 shifts of an MKZ 2017 (0.086 to 0.124 s)."""

LOW_TORQUE, HIGH_TORQUE = 1.04, 1.079
"""Fitted likewise: its torque next to CARLA 0.10's curve, up to 2000 and from 2800 rpm."""

_CURVE = (
    (1000.0, 347.0),
    (1500.0, 523.0),
    (2000.0, 606.0),
    (2800.0, 670.0),
    (4300.0, 677.0),
    (5300.0, 607.0),
    (6500.0, 466.0),
)

MKZ = EngineModel(
    torque_curve=tuple(
        (rpm, round((LOW_TORQUE if rpm <= 2000.0 else HIGH_TORQUE) * torque, 1))
        for rpm, torque in _CURVE
    ),
    max_rpm=6500.0,
    final=3.21,
    gears=_make_gears((4.584, 2.964, 1.912, 1.446, 1.0, 0.746), SHIFT_DOWN, SHIFT_UP),
    switch_time=SWITCH_TIME,
)

MKZ_2017 = EngineModel(
    torque_curve=(
        (1000.0, 347.0),
        (1500.0, 523.0),
        (2000.0, 606.0),
        (3000.0, 695.0),
        (4000.0, 677.0),
        (5300.0, 607.0),
        (6500.0, 466.0),
    ),
    max_rpm=6500.0,
    final=3.21,
    gears=(
        GearPhysicsControl(4.584, 0.23, 0.54),
        GearPhysicsControl(2.964, 0.23, 0.50),
        GearPhysicsControl(1.912, 0.23, 0.46),
        GearPhysicsControl(1.446, 0.23, 0.46),
        GearPhysicsControl(1.0, 0.23, 0.46),
        GearPhysicsControl(0.746, 0.23, 0.46),
    ),
    switch_time=RECORDED_SWITCH_TIME,
    damping=(0.05, 2.0, 0.35),
)

MODEL3 = EngineModel(
    torque_curve=(
        (0.0, 743.0),
        (9000.0, 743.0),
        (9500.0, 660.0),
        (10400.0, 605.0),
        (12500.0, 528.0),
        (15000.0, 502.0),
    ),
    max_rpm=15000.0,
    final=9.0,
    gears=(GearPhysicsControl(1.0, 0.0, 0.0),),
    switch_time=0.0,
)


PATROL = EngineModel(
    torque_curve=(
        (1000.0, 262.2),
        (1500.0, 531.05),
        (2500.0, 881.6),
        (3100.0, 974.7),
        (3800.0, 974.7),
        (4700.0, 897.75),
        (5500.0, 784.7),
        (6000.0, 632.7),
    ),
    max_rpm=6000.0,
    final=4.814,
    gears=(
        GearPhysicsControl(5.08, 0.25, 0.58),
        GearPhysicsControl(2.804, 0.17, 0.54),
        GearPhysicsControl(1.783, 0.17, 0.5),
        GearPhysicsControl(1.26, 0.25, 0.5),
        GearPhysicsControl(1.0, 0.25, 0.5),
        GearPhysicsControl(0.835, 0.25, 0.5),
    ),
    switch_time=RECORDED_SWITCH_TIME,
)


@dataclass(frozen=True, kw_only=True)
class PublishedVehicle:
    """What is published of one of CARLA's vehicles.

    Attributes:
        mass: kilograms; zero: not known, the blueprint's is taken.
        front_axle, rear_axle, width: places ahead of the origin, distance of the front wheels.
        centre: of mass, ahead of the origin and above it. radius, brake, hand_brake: of each wheel.
        lateral, most_load, longitudinal: stiffness of each tyre across, the load up to which it
            grows, and along.
    """

    engine: EngineModel
    front_axle: float
    rear_axle: float
    width: float
    mass: float = 0.0
    centre: tuple[float, float] = (0.0, 0.0)
    radius: float = 0.355
    brake: float = 1500.0
    hand_brake: float = 3000.0
    lateral: float = 13.5
    most_load: float = 3.0
    longitudinal: float = 3000.0


PUBLISHED = {
    "vehicle.lincoln.mkz_2017": PublishedVehicle(
        engine=MKZ_2017,
        front_axle=1.4718,
        rear_axle=-1.3886,
        width=1.5929,
        mass=1696.0,
        centre=(0.6, -0.3),
        radius=0.355,
        brake=800.0,
        hand_brake=1600.0,
        lateral=20.0,
    ),
    "vehicle.lincoln.mkz_2020": PublishedVehicle(
        engine=MKZ,
        front_axle=1.4718,
        rear_axle=-1.3886,
        width=1.5929,
        mass=1696.0,
        centre=(0.3, 0.0),
        radius=0.355,
        brake=800.0,
        hand_brake=1600.0,
    ),
    "vehicle.nissan.patrol": PublishedVehicle(
        engine=PATROL,
        front_axle=1.4584,
        rear_axle=-1.3802,
        width=1.6303,
        mass=2355.0,
        centre=(0.3, -0.3),
        radius=0.39,
        brake=1300.0,
        hand_brake=2600.0,
        lateral=20.0,
        most_load=5.0,
        longitudinal=4000.0,
    ),
    "vehicle.tesla.model3": PublishedVehicle(
        engine=MODEL3,
        front_axle=1.4375,
        rear_axle=-1.4375,
        width=1.58,
        mass=1845.0,
        centre=(0.45, 0.0),
        radius=0.37,
        lateral=20.0,
    ),
}


@dataclass(frozen=True)
class WheelDimensions:
    """The wheels of a real model.

    Attributes:
        wheelbase: metres, or a share of the length where it is below one.
        wheel: radius in metres.
        lock: radians of the inner wheel at full steer.
        strength: its engine relative to one of the MKZ's that had its mass.
    """

    wheelbase: float
    wheel: float = 0.33
    lock: float = 1.2217
    strength: float = 1.0


CLASSES = {
    "car": WheelDimensions(0.58),
    "van": WheelDimensions(0.60, 0.35, 1.1),
    "truck": WheelDimensions(0.52, 0.50, 0.9, 0.8),
    "bus": WheelDimensions(0.50, 0.48, 0.9, 0.8),
    "motorcycle": WheelDimensions(0.66, 0.31, 0.8, 1.2),
    "bicycle": WheelDimensions(0.62, 0.34, 0.8, 0.35),
}
"""What a vehicle gets that is not listed."""

MODELS = {
    "vehicle.audi.a2": WheelDimensions(2.405, 0.29),
    "vehicle.audi.etron": WheelDimensions(2.928, 0.37),
    "vehicle.audi.tt": WheelDimensions(2.468),
    "vehicle.bmw.grandtourer": WheelDimensions(2.780),
    "vehicle.chevrolet.impala": WheelDimensions(2.837),
    "vehicle.citroen.c3": WheelDimensions(2.540, 0.30),
    "vehicle.dodge.charger_2020": WheelDimensions(3.052, 0.35),
    "vehicle.dodge.charger_police": WheelDimensions(3.052, 0.35),
    "vehicle.dodge.charger_police_2020": WheelDimensions(3.052, 0.35),
    "vehicle.ford.crown": WheelDimensions(2.913),
    "vehicle.ford.mustang": WheelDimensions(2.743),
    "vehicle.jeep.wrangler_rubicon": WheelDimensions(2.424, 0.40),
    "vehicle.mercedes.coupe": WheelDimensions(2.945),
    "vehicle.mercedes.coupe_2020": WheelDimensions(2.840),
    "vehicle.micro.microlino": WheelDimensions(1.566, 0.27),
    "vehicle.mini.cooper_s": WheelDimensions(2.467, 0.30),
    "vehicle.mini.cooper_s_2021": WheelDimensions(2.495, 0.31),
    "vehicle.nissan.micra": WheelDimensions(2.450, 0.29),
    "vehicle.nissan.patrol_2021": WheelDimensions(3.075, 0.40),
    "vehicle.seat.leon": WheelDimensions(2.636),
    "vehicle.toyota.prius": WheelDimensions(2.700, 0.31),
    "vehicle.ford.ambulance": WheelDimensions(3.980, 0.40, 1.1, 0.8),
    "vehicle.mercedes.sprinter": WheelDimensions(3.665, 0.36, 1.1),
    "vehicle.volkswagen.t2": WheelDimensions(2.400),
    "vehicle.volkswagen.t2_2021": WheelDimensions(2.400),
    "vehicle.carlamotors.carlacola": WheelDimensions(2.900, 0.42, 0.9, 0.8),
    "vehicle.carlamotors.european_hgv": WheelDimensions(3.800, 0.50, 0.9, 0.8),
    "vehicle.carlamotors.firetruck": WheelDimensions(4.300, 0.52, 0.9, 0.8),
    "vehicle.tesla.cybertruck": WheelDimensions(3.635, 0.44),
    "vehicle.mitsubishi.fusorosa": WheelDimensions(5.000, 0.45, 0.9, 0.8),
    "vehicle.harley-davidson.low_rider": WheelDimensions(1.630, 0.32, 0.8, 1.2),
    "vehicle.kawasaki.ninja": WheelDimensions(1.440, 0.31, 0.8, 1.2),
    "vehicle.vespa.zx125": WheelDimensions(1.290, 0.23, 0.8, 0.8),
    "vehicle.yamaha.yzf": WheelDimensions(1.380, 0.31, 0.8, 1.2),
}
