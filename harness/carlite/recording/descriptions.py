"""The lines by which CARLA describes packets; scripts read them, so their form is CARLA's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.carlite.recording.packets import (
    BONE,
    GEAR,
    LONG_COUNT,
    PAIR,
    PHYSICS,
    SECONDS,
    WHEEL,
    PacketKind,
    PayloadCursor,
    unpack_actors,
    unpack_rows,
)

Row = Sequence[float]
LAMP_NAMES = (
    "Position", "LowBeam", "HighBeam", "Brake", "RightBlinker", "LeftBlinker", "Reverse", "Fog",
    "Interior", "Special1", "Special2",
)  # fmt: skip
"""In the order of their bits."""
LAMP_ORDER = (0, 1, 2, 3, 4, 5, 6, 8, 7, 9, 10)
"""In the order in which they are listed: interior before fog."""


def format_number(value: float) -> str:
    """Return a number as C++ streams print it: six digits that count."""
    return f"{value:g}"


def format_vector(values: Row) -> str:
    """Return numbers in brackets."""
    return f"({', '.join(map(format_number, values))})"


def describe_actors(payload: bytes) -> str:
    """Say who came."""
    lines = []
    for actor in unpack_actors(payload):
        place = format_vector(actor.location)
        lines.append(f" Create {actor.id}: {actor.type_id} ({actor.kind}) at {place}\n")
        lines += [f"  {one.id} = {one.value}\n" for one in actor.attributes]
    return "".join(lines)


def describe_collision(row: Row) -> str:
    """Say which actors touched."""
    number, first, second, is_first_hero, is_second_hero = row
    heroes = [" (hero) " if hero else "" for hero in (is_first_hero, is_second_hero)]
    return f" Collision id {number} between {first}{heroes[0]} with {second}{heroes[1]}\n"


def describe_rows(kind: PacketKind, payload: bytes) -> str:
    """Describe a packet of records that all have one size."""
    rows = unpack_rows(kind, payload)
    title = f" {_TITLES[kind]}: {len(rows)}\n" if kind in _TITLES else ""
    return title + "".join(_LINES[kind](row) for row in rows)


def describe_time(payload: bytes) -> str:
    """Give the computer's time."""
    (seconds,) = PayloadCursor(payload).take(SECONDS)
    return f" Current platform time: {format_number(seconds)}\n"


def describe_bones(payload: bytes) -> str:
    """Describe the bones of walkers; carlite writes none, CARLA does."""
    cursor = PayloadCursor(payload)
    count = cursor.take_count()
    lines = [f" Walkers Bones: {count}\n"]
    for _ in range(count):
        (number,) = cursor.take(LONG_COUNT)
        lines.append(f"  Id: {number}\n")
        for _ in range(cursor.take_count()):
            name, *placed = cursor.take_text(), *cursor.take(BONE)
            where, turned = format_vector(placed[:3]), format_vector(placed[3:])
            lines.append(f'     Bone: "{name}" relative: Loc{where} Rot{turned}\n')
    return "".join([*lines, "\n"])


def describe_physics(payload: bytes) -> str:
    """Describe what is under the bonnets."""
    cursor = PayloadCursor(payload)
    count = cursor.take_count()
    return f" Physics Control events: {count}\n" + "".join(
        _describe_vehicle_physics(cursor) for _ in range(count)
    )


def _describe_vehicle_physics(cursor: PayloadCursor) -> str:
    number, rpm, inertia, full, engaged, free, automatic, *rest = cursor.take(PHYSICS)
    clutch, ratio, mass, drag, *centre = rest
    torque, gears, steering, wheels = (
        [cursor.take(shape) for _ in range(int(cursor.take(LONG_COUNT)[0]))]
        for shape in (PAIR, GEAR, PAIR, WHEEL)
    )
    values = {
        "max_rpm": format_number(rpm),
        "MOI": format_number(inertia),
        "damping_rate_full_throttle": format_number(full),
        "damping_rate_zero_throttle_clutch_engaged": format_number(engaged),
        "damping_rate_zero_throttle_clutch_disengaged": format_number(free),
        "use_gear_auto_box": "true" if automatic else "false",
        # CARLA prints what its log does not hold: the default
        "gear_switch_time": "0.5",
        "clutch_strength": format_number(clutch),
        "final_ratio": format_number(ratio),
        "mass": format_number(mass),
        "drag_coefficient": format_number(drag),
        "center_of_mass": format_vector(centre),
    }
    lines = [f"  Id: {number}", *(f"   {name} = {value}" for name, value in values.items())]
    for label, curve in (("torque_curve", torque), ("steering_curve", steering)):
        lines.append(f"   {label} =" + "".join(f" {format_vector(point)}" for point in curve))
    lines.append("   forward_gears:")
    for index, gear in enumerate(gears):
        named = zip(("ratio", "down_ratio", "up_ratio"), gear, strict=True)
        lines.append(f"    gear {index}: " + _join_named(named))
    lines.append("   wheels:")
    names = ("tire_friction", "damping_rate", "max_steer_angle", "radius", "max_brake_torque")
    for index, wheel in enumerate(wheels):
        named = zip((*names, "max_handbrake_torque"), wheel[:6], strict=True)
        place = format_vector(wheel[9:])
        lines.append(f"    wheel {index}: {_join_named(named)} position {place}")
    return "\n".join(lines) + "\n"


def _join_named(pairs: zip[tuple[str, float]]) -> str:
    return " ".join(f"{name} {format_number(value)}" for name, value in pairs)


def _describe_lamps(row: Row) -> str:
    flags = int(row[1])
    lit = [LAMP_NAMES[bit] for bit in LAMP_ORDER if flags >> bit & 1]
    return f"  Id: {row[0]} {' '.join(lit) or 'None'}\n"


def _describe_street_lamp(row: Row) -> str:
    return (
        f"  Id: {row[0]} enabled: {'True' if row[6] else 'False'}"
        f" intensity: {format_number(row[1])} RGB_color: {format_vector(row[2:5])}\n"
    )


def _describe_box(row: Row) -> str:
    origin, extent = format_vector(row[1:4]), format_vector(row[4:7])
    return f"  Id: {row[0]} origin: {origin} extension: {extent}\n"


_TITLES = {
    PacketKind.POSITION: "Positions",
    PacketKind.STATE: "State traffic lights",
    PacketKind.ANIM_VEHICLE: "Vehicle animations",
    PacketKind.ANIM_WALKER: "Walker animations",
    PacketKind.VEHICLE_LIGHT: "Vehicle light animations",
    PacketKind.SCENE_LIGHT: "Scene light changes",
    PacketKind.KINEMATICS: "Dynamic actors",
    PacketKind.BOUNDING_BOX: "Actor bounding boxes",
    PacketKind.TRIGGER_VOLUME: "Actor trigger volumes",
    PacketKind.TRAFFIC_LIGHT_TIME: "Traffic Light time events",
}
_LINES: dict[PacketKind, Callable[[Row], str]] = {
    PacketKind.EVENT_DEL: lambda row: f" Destroy {row[0]}\n",
    PacketKind.EVENT_PARENT: lambda row: f" Parenting {row[0]} with {row[1]} (parent)\n",
    PacketKind.COLLISION: describe_collision,
    PacketKind.POSITION: lambda row: (
        f"  Id: {row[0]} Location: {format_vector(row[1:4])} Rotation: {format_vector(row[4:7])}\n"
    ),
    PacketKind.STATE: lambda row: (
        f"  Id: {row[0]} state: {chr(0x30 + int(row[3]))} frozen: {int(row[1])}"
        f" elapsedTime: {format_number(row[2])}\n"
    ),
    PacketKind.ANIM_VEHICLE: lambda row: (
        f"  Id: {row[0]} Steering: {format_number(row[1])} Throttle: {format_number(row[2])}"
        f" Brake: {format_number(row[3])} Handbrake: {int(row[4])} Gear: {row[5]}\n"
    ),
    PacketKind.ANIM_WALKER: lambda row: f"  Id: {row[0]} speed: {format_number(row[1])}\n",
    PacketKind.VEHICLE_LIGHT: _describe_lamps,
    PacketKind.SCENE_LIGHT: _describe_street_lamp,
    PacketKind.KINEMATICS: lambda row: (
        f"  Id: {row[0]} linear_velocity: {format_vector(row[1:4])}"
        f" angular_velocity: {format_vector(row[4:7])}\n"
    ),
    PacketKind.BOUNDING_BOX: _describe_box,
    PacketKind.TRIGGER_VOLUME: _describe_box,
    PacketKind.TRAFFIC_LIGHT_TIME: lambda row: (
        f"  Id: {row[0]} green_time: {format_number(row[1])} yellow_time: {format_number(row[2])}"
        f" red_time: {format_number(row[3])}\n"
    ),
}
