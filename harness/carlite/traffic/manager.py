"""The Traffic Manager: one method per remote call, and the step that drives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.towns.model import Town
from harness.carlite.traffic import paths
from harness.carlite.traffic.drivers import DriverWishes
from harness.carlite.traffic.fleet import DriverFleet, PhysicsRows
from harness.carlite.traffic.lights import TrafficLights
from harness.carlite.traffic.routes import LINKS, NO_PLAN, TURNS

DEFAULT_SLOWER = 30.0
DEFAULT_DISTANCE = 2.0
FORGOTTEN = 4096
"""Vehicles that may have wishes without being driven; the oldest are forgotten first."""


class TrafficManager:
    """Drives the vehicles registered with it.

    Vehicles are named by actor id. Wishes may come before a vehicle is registered and outlive its
    registration. Calls about hybrid physics, OSM mode, dormant vehicles and timeouts are accepted
    and change nothing: every vehicle always has full physics, and time is the server's.
    """

    def __init__(
        self,
        town: Town,
        *,
        table: ActorTable,
        lights: TrafficLights,
        physics: PhysicsRows,
        seed: int,
    ) -> None:
        self.fleet = DriverFleet(town, table=table, lights=lights, physics=physics, seed=seed)
        self._table = table
        self._members: list[int] = []
        self._wishes: dict[int, DriverWishes] = {}
        self._common = DriverWishes(
            slower=DEFAULT_SLOWER, lane_offset=0.0, distance=DEFAULT_DISTANCE
        )
        self._exempt: dict[tuple[int, int], None] = {}
        self._members_changed = self._wishes_changed = False
        self._removals = table.removals

    @property
    def vehicles(self) -> Sequence[int]:
        """The vehicles driven, in the order of registration."""
        return self._members

    def step(self, dt: float) -> None:
        """Set the controls of all registered vehicles; those destroyed are forgotten."""
        if self._removals != self._table.removals:
            self._removals = self._table.removals
            present = [actor for actor in self._members if actor in self._table]
            self._members_changed |= len(present) < len(self._members)
            self._members = present
        if self._members_changed:
            self.fleet.set_members(self._members)
            self._members_changed, self._wishes_changed = False, True
        if self._wishes_changed:
            for actor in self._members:
                self._wishes.setdefault(actor, DriverWishes())
            self.fleet.set_wishes(self._wishes, self._common)
            self._wishes_changed = False
        self.fleet.step_drivers(dt)

    def register_vehicle(self, actors: Sequence[int]) -> None:
        """Take over vehicles; anything that is none is left alone."""
        for actor in actors:
            known = actor in self._table and self._table.kind[self._table.find_slot(actor)]
            if known == ActorKind.VEHICLE and actor not in self._members:
                self._members.append(actor)
                self._members_changed = True

    def unregister_vehicle(self, actors: Sequence[int]) -> None:
        """Let vehicles go; their controls stay as they are."""
        dropped = set(actors)
        self._members = [actor for actor in self._members if actor not in dropped]
        self._members_changed = True

    def set_percentage_speed_difference(self, actor: int, percentage: float) -> None:
        """Drive this much below the speed limit, or above it if negative."""
        wish = self._ensure_wishes(actor)
        wish.slower, wish.desired_speed = percentage, None

    def set_global_percentage_speed_difference(self, percentage: float) -> None:
        """Likewise for all vehicles that have no percentage of their own."""
        self._common.slower = percentage
        self._wishes_changed = True

    def set_desired_speed(self, actor: int, speed: float) -> None:
        """Drive at this many km/h whatever the limit says, bends and traffic permitting."""
        self._ensure_wishes(actor).desired_speed = speed

    def set_lane_offset(self, actor: int, offset: float) -> None:
        """Keep metres right of the lane's centre, or left if negative."""
        self._ensure_wishes(actor).lane_offset = offset

    def set_global_lane_offset(self, offset: float) -> None:
        """Likewise for all vehicles that have no offset of their own."""
        self._common.lane_offset = offset
        self._wishes_changed = True

    def update_vehicle_lights(self, actor: int, update: bool) -> None:
        """Work the brake lights and blinkers, or leave them alone."""
        self._ensure_wishes(actor).lamps = update

    def set_collision_detection(self, actor: int, other: int, detect: bool) -> None:
        """Let a vehicle mind another actor, or not."""
        if detect:
            self._exempt.pop((actor, other), None)
        elif len(self._exempt) < FORGOTTEN:
            self._exempt[actor, other] = None
        self.fleet.exempt = np.array(list(self._exempt), np.int64).reshape(-1, 2)

    def set_force_lane_change(self, actor: int, right: bool) -> None:
        """Change lanes to the right or to the left as soon as there is any room."""
        self._ensure_wishes(actor).forced_change = 1 if right else -1

    def set_auto_lane_change(self, actor: int, enable: bool) -> None:
        """Allow lane changes to pass slower vehicles, or not."""
        self._ensure_wishes(actor).auto_change = enable

    def set_distance_to_leading_vehicle(self, actor: int, distance: float) -> None:
        """Keep at least this many metres to the vehicle ahead."""
        self._ensure_wishes(actor).distance = max(distance, 0.0)

    def set_global_distance_to_leading_vehicle(self, distance: float) -> None:
        """Likewise for all vehicles that have no distance of their own."""
        self._common.distance = max(distance, 0.0)
        self._wishes_changed = True

    def set_percentage_ignore_walkers(self, actor: int, percentage: float) -> None:
        """Chance of not minding a walker, settled once for each walker."""
        self._ensure_wishes(actor).ignore_walkers = percentage

    def set_percentage_ignore_vehicles(self, actor: int, percentage: float) -> None:
        """Chance of not minding another vehicle, settled once for each."""
        self._ensure_wishes(actor).ignore_vehicles = percentage

    def set_percentage_running_light(self, actor: int, percentage: float) -> None:
        """Chance of not minding a light, settled once for each approach."""
        self._ensure_wishes(actor).ignore_lights = percentage

    def set_percentage_running_sign(self, actor: int, percentage: float) -> None:
        """Chance of not minding a sign, settled once for each approach."""
        self._ensure_wishes(actor).ignore_signs = percentage

    def keep_slow_lane_rule_percentage(self, actor: int, percentage: float) -> None:
        """Chance per second of returning to the right where there is room."""
        self._ensure_wishes(actor).keep_right = percentage

    def random_left_lanechange_percentage(self, actor: int, percentage: float) -> None:
        """Chance per second of changing to the left where there is room."""
        self._ensure_wishes(actor).random_left = percentage

    def random_right_lanechange_percentage(self, actor: int, percentage: float) -> None:
        """Chance per second of changing to the right where there is room."""
        self._ensure_wishes(actor).random_right = percentage

    def set_random_device_seed(self, seed: int) -> None:
        """Restart all random streams."""
        self.fleet.reseed_drivers(seed)

    def set_path(self, actor: int, path: list[tuple[float, float, float]], _empty: bool) -> None:
        """Drive along these places, then wherever chance leads."""
        self.update_custom_path(actor, path)

    def update_custom_path(self, actor: int, path: list[tuple[float, float, float]]) -> None:
        """Replace the places to drive along; the way to the first one is looked for, too."""
        self._apply_members()
        start = -1
        if actor in self._members:
            start = self._find_present_link(actor)
        self._set_plan(actor, LINKS, paths.find_path_links(self.fleet.network, path, start))

    def remove_custom_path(self, actor: int, _remove: bool) -> None:
        """Drive wherever chance leads again."""
        self._set_plan(actor, NO_PLAN, [])

    def set_imported_route(self, actor: int, route: list[int], _empty: bool) -> None:
        """Turn at the next junctions as CARLA's road options say."""
        self.update_imported_route(actor, route)

    def update_imported_route(self, actor: int, route: list[int]) -> None:
        """Replace the turns to take."""
        self._set_plan(actor, TURNS, route)

    def remove_imported_route(self, actor: int, _remove: bool) -> None:
        """Drive wherever chance leads again."""
        self._set_plan(actor, NO_PLAN, [])

    def get_next_action(self, actor: int) -> list[object]:
        """Return the next turn and where it begins; the wheel decodes neither."""
        return self.get_all_actions(actor)[0]

    def get_all_actions(self, actor: int) -> list[list[object]]:
        """Return all turns ahead that are decided."""
        self._apply_members()
        if actor not in self._members:
            return [["LaneFollow", [0.0, 0.0, 0.0]]]
        me = self.fleet.drivers[self._members.index(actor)]
        return paths.list_turns_ahead(self.fleet.network, me)

    def set_synchronous_mode(self, _synchronous: bool) -> None:
        """Accept without effect: drivers always act within the tick."""

    def set_synchronous_mode_timeout_in_milisecond(self, _timeout: float) -> None:
        """Accept without effect."""

    def synchronous_tick(self) -> bool:
        """Say that the step is done: it is part of the tick."""
        return True

    def health_check_remote_TM(self) -> None:  # noqa: N802
        """Say, by answering, that the manager is alive."""

    def set_hybrid_physics_mode(self, _hybrid: bool) -> None:
        """Accept without effect."""

    def set_hybrid_physics_radius(self, _radius: float) -> None:
        """Accept without effect."""

    def set_osm_mode(self, _osm: bool) -> None:
        """Accept without effect."""

    def set_respawn_dormant_vehicles(self, _respawn: bool) -> None:
        """Accept without effect."""

    def set_boundaries_respawn_dormant_vehicles(self, _lower: float, _upper: float) -> None:
        """Accept without effect."""

    def set_max_boundaries(self, _lower: float, _upper: float) -> None:
        """Accept without effect."""

    def shut_down(self) -> None:
        """Let all vehicles go."""
        self.unregister_vehicle(list(self._members))

    def _ensure_wishes(self, actor: int) -> DriverWishes:
        self._wishes_changed = True
        if actor not in self._wishes and len(self._wishes) >= FORGOTTEN:
            stale = [actor_id for actor_id in self._wishes if actor_id not in self._members]
            for actor_id in stale[: len(stale) // 2]:
                del self._wishes[actor_id]
        return self._wishes.setdefault(actor, DriverWishes())

    def _apply_members(self) -> None:
        if self._members_changed:
            self._members = [actor for actor in self._members if actor in self._table]
            self.fleet.set_members(self._members)
            self._members_changed, self._wishes_changed = False, True

    def _find_present_link(self, actor: int) -> int:
        me = self.fleet.drivers[self._members.index(actor)]
        if me["placed"]:
            return int(me["route"][me["at"]])
        slot = self._table.find_slot(actor)
        place, yaw = self._table.position[slot], float(self._table.rotation[slot, 1])
        return paths.find_nearest_link(self.fleet.network, place.tolist(), yaw)

    def _set_plan(self, actor: int, kind: int, steps: list[int]) -> None:
        self._apply_members()
        if actor in self._members:
            paths.set_route_plan(self.fleet.drivers[self._members.index(actor)], kind, steps)
