"""How each vehicle drives: published power, wheelbase and turning circle, by CARLA's ids.

The figures are those of the real models, rounded; docs/dynamics.md gives the sources of the two
that are held to them. A vehicle that is not listed gets the figures of its class.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Drivetrain:
    """Engine and gearbox of a kind of vehicle.

    Attributes:
        max_rpm, peak_rpm: top engine speed, and where the power peaks.
        low_rpm: where full torque begins.
        torque_rise: torque at standstill as a share of the peak.
        efficiency: share of the engine's power that reaches the ground.
        ratios, final: the gearbox.
        up, down: shares of the top engine speed at which it shifts.
        switch_time: seconds without torque at a shift.
        inertia: kg m² per newton metre of peak torque.
        drag: torque at top speed with the throttle closed, as a share of the peak.
    """

    max_rpm: float
    peak_rpm: float
    low_rpm: float
    torque_rise: float
    efficiency: float
    ratios: tuple[float, ...]
    final: float
    up: float = 0.92
    down: float = 0.42
    switch_time: float = 0.25
    inertia: float = 5.0e-4
    drag: float = 0.2


ELECTRIC = Drivetrain(18000, 4460, 1, 1.0, 0.97, (1.0,), 9.04, inertia=1.5e-4, drag=0.6)
COMBUSTION = Drivetrain(
    6500, 5500, 2200, 0.45, 0.82, (4.48, 2.87, 1.84, 1.41, 1.0, 0.74), 3.07
)  # fmt: skip
DIESEL = Drivetrain(
    2600, 2200, 1100, 0.6, 0.82, (7.0, 4.4, 2.8, 1.9, 1.35, 1.0, 0.75), 4.1,
    down=0.5, switch_time=0.4, inertia=1.2e-3,
)  # fmt: skip
LIGHT_DIESEL = Drivetrain(
    4500, 3800, 1500, 0.5, 0.82, (4.4, 2.6, 1.6, 1.2, 0.9, 0.72), 3.9
)  # fmt: skip
CHAIN = Drivetrain(
    10500, 9500, 6000, 0.5, 0.88, (2.85, 2.05, 1.6, 1.35, 1.2, 1.1), 4.9, inertia=6.0e-4
)  # fmt: skip
SCOOTER = Drivetrain(9000, 7500, 3000, 0.6, 0.85, (1.0,), 8.6, inertia=6.0e-4)
PEDALS = Drivetrain(250, 150, 1, 1.0, 1.0, (1.0,), 1.0, inertia=1.0e-4, drag=0.0)


@dataclass(frozen=True)
class Figures:
    """What is published about a model.

    Attributes:
        power: kilowatts.
        wheelbase: metres, or a share of the length where it is below one.
        turning_circle: kerb to kerb, metres.
        torque: newton metres; zero: what the power gives at the drivetrain's peak, plus a quarter.
        drag: coefficient.
        friction: CARLA's tyre friction.
        wheel: radius in metres.
    """

    drivetrain: Drivetrain
    power: float
    wheelbase: float
    turning_circle: float
    torque: float = 0.0
    drag: float = 0.32
    friction: float = 3.3
    wheel: float = 0.33


CLASSES = {
    "car": Figures(COMBUSTION, 110, 0.58, 11.2),
    "van": Figures(COMBUSTION, 105, 0.60, 13.0, drag=0.36, friction=3.0, wheel=0.35),
    "truck": Figures(DIESEL, 220, 0.52, 15.5, drag=0.60, friction=2.5, wheel=0.50),
    "bus": Figures(DIESEL, 150, 0.50, 17.0, drag=0.55, friction=2.5, wheel=0.48),
    "motorcycle": Figures(CHAIN, 70, 0.66, 5.8, drag=0.55, friction=3.1, wheel=0.31),
    "bicycle": Figures(PEDALS, 0.5, 0.62, 3.8, torque=42.0, drag=0.45, friction=2.4, wheel=0.34),
}
"""What a vehicle gets that is not listed."""

MODELS = {
    "vehicle.audi.a2": Figures(COMBUSTION, 55, 2.405, 10.5, drag=0.26, wheel=0.29),
    "vehicle.audi.etron": Figures(ELECTRIC, 300, 2.928, 12.2, 664, drag=0.28, wheel=0.37),
    "vehicle.audi.tt": Figures(COMBUSTION, 147, 2.468, 10.9, 280, drag=0.30, friction=3.5),
    "vehicle.bmw.grandtourer": Figures(COMBUSTION, 110, 2.780, 11.7, 230),
    "vehicle.chevrolet.impala": Figures(COMBUSTION, 147, 2.837, 11.8, 253),
    "vehicle.citroen.c3": Figures(COMBUSTION, 61, 2.540, 10.7, 118, wheel=0.30),
    "vehicle.dodge.charger_2020": Figures(COMBUSTION, 218, 3.052, 11.7, 353, wheel=0.35),
    "vehicle.dodge.charger_police": Figures(COMBUSTION, 276, 3.052, 11.7, 529, wheel=0.35),
    "vehicle.dodge.charger_police_2020": Figures(COMBUSTION, 276, 3.052, 11.7, 529, wheel=0.35),
    "vehicle.ford.crown": Figures(COMBUSTION, 178, 2.913, 12.3, 373),
    "vehicle.ford.mustang": Figures(COMBUSTION, 149, 2.743, 11.6, 382, drag=0.44),
    "vehicle.jeep.wrangler_rubicon": Figures(COMBUSTION, 209, 2.424, 10.6, 353, 0.45, 3.0, 0.40),
    "vehicle.lincoln.mkz_2017": Figures(COMBUSTION, 183, 2.850, 11.5, 373, 0.28, 3.25, 0.335),
    "vehicle.lincoln.mkz_2020": Figures(COMBUSTION, 183, 2.850, 11.5, 373, 0.28, 3.25, 0.335),
    "vehicle.mercedes.coupe": Figures(COMBUSTION, 245, 2.945, 11.6, 480, drag=0.26, friction=3.5),
    "vehicle.mercedes.coupe_2020": Figures(COMBUSTION, 190, 2.840, 11.2, 370, 0.26, 3.5),
    "vehicle.micro.microlino": Figures(ELECTRIC, 12.5, 1.566, 8.2, 89, wheel=0.27),
    "vehicle.mini.cooper_s": Figures(COMBUSTION, 128, 2.467, 10.7, 240, friction=3.5, wheel=0.30),
    "vehicle.mini.cooper_s_2021": Figures(COMBUSTION, 141, 2.495, 11.0, 280, 0.32, 3.5, 0.31),
    "vehicle.nissan.micra": Figures(COMBUSTION, 59, 2.450, 9.6, 110, wheel=0.29),
    "vehicle.nissan.patrol": Figures(LIGHT_DIESEL, 118, 2.850, 12.0, 380, 0.42, 3.0, 0.39),
    "vehicle.nissan.patrol_2021": Figures(COMBUSTION, 298, 3.075, 12.5, 560, 0.38, 3.0, 0.40),
    "vehicle.seat.leon": Figures(COMBUSTION, 110, 2.636, 10.4, 250, drag=0.29),
    "vehicle.tesla.model3": Figures(ELECTRIC, 175, 2.875, 11.8, 375, 0.23, 3.35, 0.335),
    "vehicle.toyota.prius": Figures(ELECTRIC, 90, 2.700, 10.4, 190, drag=0.25, wheel=0.31),
    "vehicle.ford.ambulance": Figures(LIGHT_DIESEL, 242, 3.980, 15.0, 1100, 0.45, 2.6, 0.40),
    "vehicle.mercedes.sprinter": Figures(LIGHT_DIESEL, 105, 3.665, 13.4, 330, 0.34, 3.0, 0.36),
    "vehicle.volkswagen.t2": Figures(COMBUSTION, 51, 2.400, 10.5, 140, 0.45, 3.0),
    "vehicle.volkswagen.t2_2021": Figures(COMBUSTION, 51, 2.400, 10.5, 140, 0.45, 3.0),
    "vehicle.carlamotors.carlacola": Figures(DIESEL, 130, 2.900, 13.0, 600, 0.60, 2.8, 0.42),
    "vehicle.carlamotors.european_hgv": Figures(DIESEL, 330, 3.800, 15.5, 2200, 0.60, 2.5, 0.50),
    "vehicle.carlamotors.firetruck": Figures(DIESEL, 300, 4.300, 16.5, 1900, 0.65, 2.5, 0.52),
    "vehicle.tesla.cybertruck": Figures(ELECTRIC, 440, 3.635, 13.3, 930, 0.34, 3.3, 0.44),
    "vehicle.mitsubishi.fusorosa": Figures(DIESEL, 150, 5.000, 17.0, 800, 0.55, 2.5, 0.45),
    "vehicle.harley-davidson.low_rider": Figures(CHAIN, 64, 1.630, 6.2, 0, 0.60, 3.0, 0.32),
    "vehicle.kawasaki.ninja": Figures(CHAIN, 110, 1.440, 6.6, 0, 0.50, 3.3, 0.31),
    "vehicle.vespa.zx125": Figures(SCOOTER, 8, 1.290, 4.0, 0, 0.60, 2.8, 0.23),
    "vehicle.yamaha.yzf": Figures(CHAIN, 87, 1.380, 6.6, 0, 0.50, 3.3, 0.31),
}
