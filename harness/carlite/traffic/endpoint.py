"""The Traffic Manager's own socket: plain msgpack-rpc, as the wheel's remote proxy speaks it.

Unlike the simulator's calls these carry no metadata and their results are not wrapped: a request
is `[0, id, name, arguments]`, its reply `[1, id, error, result]` with rpclib's own error slot.
"""

from __future__ import annotations

import asyncio
import struct
import sys
import traceback
from collections.abc import Callable

import msgpack

from harness.carlite.errors import CallError
from harness.carlite.traffic.manager import TrafficManager

LARGEST = 1e9
MAX_MESSAGE = 16 * 2**20
FULL_CONNECTION = 8 * 2**20
"""A peer that does not read its replies is dropped once this much waits for it."""

Convert = Callable[[object], object]


def _actor(value: object) -> int:
    """Actors arrive as whole records; only the id matters here."""
    return _id(value[0]) if isinstance(value, (list, tuple)) and value else _id(value)


def _id(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
        raise CallError("expected an actor")
    return value


def _actors(value: object) -> list[int]:
    return [_actor(item) for item in _list(value)]


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= LARGEST:
        raise CallError("expected a finite number")
    return float(value)


def _flag(value: object) -> bool:
    if not isinstance(value, (bool, int)):
        raise CallError("expected true or false")
    return bool(value)


def _seed(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise CallError("expected an integer")
    return value & (2**64 - 1)


def _list(value: object) -> list[object]:
    if not isinstance(value, (list, tuple)):
        raise CallError("expected a list")
    return list(value)


def _path(value: object) -> list[tuple[float, float, float]]:
    points = [_list(item) for item in _list(value)]
    if any(len(point) != 3 for point in points):
        raise CallError("expected a list of locations")
    return [(_number(x), _number(y), _number(z)) for x, y, z in points]


def _route(value: object) -> list[int]:
    if isinstance(value, bytes):
        return list(value)
    return [_id(item) for item in _list(value)]


CALLS: dict[str, tuple[Convert, ...]] = {
    "register_vehicle": (_actors,),
    "unregister_vehicle": (_actors,),
    "set_percentage_speed_difference": (_actor, _number),
    "set_global_percentage_speed_difference": (_number,),
    "set_desired_speed": (_actor, _number),
    "set_lane_offset": (_actor, _number),
    "set_global_lane_offset": (_number,),
    "update_vehicle_lights": (_actor, _flag),
    "set_collision_detection": (_actor, _actor, _flag),
    "set_force_lane_change": (_actor, _flag),
    "set_auto_lane_change": (_actor, _flag),
    "set_distance_to_leading_vehicle": (_actor, _number),
    "set_global_distance_to_leading_vehicle": (_number,),
    "set_percentage_ignore_walkers": (_actor, _number),
    "set_percentage_ignore_vehicles": (_actor, _number),
    "set_percentage_running_light": (_actor, _number),
    "set_percentage_running_sign": (_actor, _number),
    "keep_slow_lane_rule_percentage": (_actor, _number),
    "random_left_lanechange_percentage": (_actor, _number),
    "random_right_lanechange_percentage": (_actor, _number),
    "set_synchronous_mode": (_flag,),
    "set_synchronous_mode_timeout_in_milisecond": (_number,),
    "synchronous_tick": (),
    "health_check_remote_TM": (),
    "set_hybrid_physics_mode": (_flag,),
    "set_hybrid_physics_radius": (_number,),
    "set_random_device_seed": (_seed,),
    "set_osm_mode": (_flag,),
    "set_path": (_actor, _path, _flag),
    "remove_custom_path": (_id, _flag),
    "update_custom_path": (_id, _path),
    "set_imported_route": (_actor, _route, _flag),
    "remove_imported_route": (_id, _flag),
    "update_imported_route": (_id, _route),
    "set_respawn_dormant_vehicles": (_flag,),
    "set_boundaries_respawn_dormant_vehicles": (_number, _number),
    "set_max_boundaries": (_number, _number),
    "get_next_action": (_id,),
    "get_all_actions": (_id,),
    "shut_down": (),
}


def answer(manager: TrafficManager, name: object, arguments: object) -> object:
    """Run one call; `CallError` says what is wrong with it."""
    converts = CALLS.get(name) if isinstance(name, str) else None
    if converts is None:
        raise CallError(f"the Traffic Manager has no call {name!r}")
    values = _list(arguments)
    if len(values) != len(converts):
        raise CallError(f"{name}: expected {len(converts)} arguments, got {len(values)}")
    try:
        converted = [convert(value) for convert, value in zip(converts, values, strict=True)]
    except CallError as error:
        raise CallError(f"{name}: {error}") from None
    result: object = getattr(manager, str(name))(*converted)
    return result


class Connection(asyncio.Protocol):
    """One client of the Traffic Manager. `manager` is asked anew for each call: worlds change."""

    def __init__(self, manager: Callable[[], TrafficManager]) -> None:
        self._manager = manager
        self._transport: asyncio.Transport | None = None
        self._unpacker = msgpack.Unpacker(
            raw=False,
            strict_map_key=False,
            unicode_errors="surrogateescape",
            max_buffer_size=MAX_MESSAGE,
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for replies."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every complete request; bytes that are none close this connection alone."""
        assert self._transport is not None
        try:
            self._unpacker.feed(data)
            for message in self._unpacker:
                self._serve(message)
        except (ValueError, RecursionError, struct.error, msgpack.UnpackException) as error:
            print(f"traffic manager: dropped a connection: {error!r}", file=sys.stderr)
            self._transport.abort()

    def _serve(self, message: object) -> None:
        assert self._transport is not None
        if not isinstance(message, list) or len(message) not in {3, 4}:
            raise ValueError("not a request")
        is_call = message[0] == 0 and len(message) == 4 and isinstance(message[1], int)
        if not is_call and not (message[0] == 2 and len(message) == 3):
            raise ValueError("not a request")
        name, arguments = message[-2:]
        error, result = None, None
        try:
            result = answer(self._manager(), name, arguments)
        except CallError as refusal:
            error = str(refusal)
        except Exception as failure:  # a defect in one call must not end the others
            traceback.print_exc()
            error = f"{name}: {failure}"
        if is_call:
            self._transport.write(
                msgpack.packb([1, message[1], error, result], unicode_errors="surrogateescape")
            )
        if self._transport.get_write_buffer_size() > FULL_CONNECTION:
            raise ValueError("replies are not read")
