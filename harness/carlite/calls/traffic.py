"""Calls by which clients find Traffic Managers: the server's own, or each other's."""

from __future__ import annotations

from harness.carlite.calls.family import CallFamily
from harness.carlite.errors import CallError
from harness.carlite.rpc import ClientSession
from harness.carlite.wire import codec
from harness.carlite.world import ServerWorld

calls = CallFamily()


@calls.register_value
def is_traffic_manager_running(world: ServerWorld, session: ClientSession, port: object) -> bool:
    """Whether a Traffic Manager can be found by that port; the server's answers to all."""
    return session.traffic is not None or codec.decode_integer(port, "port") in world.managers


@calls.register_value
def get_traffic_manager_running(world: ServerWorld, session: ClientSession, port: object) -> object:
    """Return where the Traffic Manager of that port is to be had."""
    if session.traffic is not None:
        return list(session.traffic)
    number = codec.decode_integer(port, "port")
    if number not in world.managers:
        raise CallError(f"no Traffic Manager runs on port {number}")
    return list(world.managers[number])


@calls.register_value
def add_traffic_manager_running(
    world: ServerWorld, session: ClientSession, address: object
) -> bool:
    """Enter a client's Traffic Manager; false where the port has one.

    Refused while the server has one: a client enters its own when it could not reach that one.
    """
    if session.traffic is not None:
        where = ":".join(map(str, session.traffic))
        raise CallError(
            f"carlite's Traffic Manager did not answer at {where} within two seconds, and a "
            "Traffic Manager in the client is refused: it can hang for ever (start carlite with "
            "--traffic-manager client to have it all the same)"
        )
    host, port = codec.decode_items(address, "address", 2)
    number = codec.decode_integer(port, "port")
    if number in world.managers:
        return False
    world.managers[number] = (codec.decode_text(host, "host"), number)
    return True


@calls.register_void
def destroy_traffic_manager(world: ServerWorld, session: ClientSession, port: object) -> None:
    """Strike a client's Traffic Manager off the list."""
    world.managers.pop(codec.decode_integer(port, "port"), None)
