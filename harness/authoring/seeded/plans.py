"""The plan of a town from a seed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from harness.authoring.plan import JunctionControl, Node, Street, TownPlan, TownSurroundings
from harness.authoring.sections import PARKING_FREE, PARKING_TAPER, POCKET_TAPER
from harness.authoring.seeded import classes, grid, ground_plan
from harness.authoring.seeded.grid import Cell
from harness.authoring.seeded.parameters import TownParameters
from harness.carlite.angles import wrap_to_pi
from harness.carlite.randomness import make_random_stream

FOUR_ARMS = 4
OPPOSITE = math.radians(150)
"""Two arms whose directions differ by this much are one road that goes on."""
NEVER_LIT = 2
"""Junctions, if there are as many, where a street crosses an avenue that has priority."""
SHORTEST_POCKET, LONGEST_POCKET = 18.0, 30.0
"""Metres of a left-turn lane."""
INSIDE_JUNCTIONS = 54.0
"""Metres of a street with pockets, from middle to middle, that lie in its two junctions."""
LATITUDE, LONGITUDE = 48.0, 11.0


def make_town_plan(seed: int, name: str, parameters: TownParameters) -> TownPlan:
    """Return a town's plan; every part of it is sampled from a stream of its own."""
    # a stream for every part: a change of one part leaves the others as they were
    rngs = {
        part: make_random_stream(seed, "town plan", part)
        for part in ("lines", "edges", "points", "bends", "heights", "profiles", "rules", "pockets")
    }
    # streets of the grid, without those that are removed
    lines = classes.choose_grid_lines(parameters, rngs["lines"])
    every = grid.list_grid_edges(parameters.columns, parameters.rows)
    built = grid.remove_grid_edges(
        every, classes.select_kept_stretches(lines, every), parameters.removed, rngs["edges"]
    )
    chains = grid.list_street_chains(built)
    # where crossings lie, and how high
    points = ground_plan.place_crossings(parameters, rngs["points"])
    heights = ground_plan.sample_heights(points, chains, parameters.grade, rngs["heights"])
    # streets, then what controls their crossings
    streets = [
        Street(
            name=classes.make_street_name(chain, lines, number),
            start=classes.make_crossing_name(chain.cells[0]),
            end=classes.make_crossing_name(chain.cells[-1]),
            profile=classes.make_street_profile(
                chain,
                lines,
                parameters,
                length=ground_plan.compute_street_length(chain, points),
                rng=rngs["profiles"],
            ),
            via=ground_plan.make_street_vias(chain, points, parameters.curvature, rngs["bends"]),
        )
        for number, chain in enumerate(chains, start=1)
    ]
    nodes = _make_nodes(points, heights, streets)
    nodes = _choose_controls(nodes, streets, parameters, rngs["rules"])
    streets, nodes = _add_pockets(nodes, streets, parameters, rngs["pockets"])
    return TownPlan(
        name=name,
        nodes=nodes,
        streets=tuple(streets),
        latitude=LATITUDE,
        longitude=LONGITUDE,
        surroundings=TownSurroundings(
            setback=parameters.setback, parked=parameters.parked, storeys=parameters.storeys
        ),
    )


def _make_nodes(
    points: Mapping[Cell, ground_plan.Point], heights: Mapping[Cell, float], streets: list[Street]
) -> dict[str, Node]:
    """Return the junctions: the crossings where streets end."""
    ends = {end for street in streets for end in (street.start, street.end)}
    return {
        classes.make_crossing_name(cell): Node(x, y, heights[cell])
        for cell, (x, y) in points.items()
        if classes.make_crossing_name(cell) in ends
    }


def _list_arm_directions(
    name: str, nodes: Mapping[str, Node], streets: list[Street]
) -> list[tuple[float, Street]]:
    """Return the streets that meet at a junction, each with the direction in which it leaves."""
    here = nodes[name]
    result = []
    for street in streets:
        stops = _list_street_corners(street, nodes)
        for at, (x, y) in ((street.start, stops[1]), (street.end, stops[-2])):
            if at == name:
                result.append((math.atan2(y - here.y, x - here.x), street))
    return result


def _list_street_corners(street: Street, nodes: Mapping[str, Node]) -> list[ground_plan.Point]:
    """Return the corners of a street's course, its ends included."""
    ends = [(node.x, node.y) for node in (nodes[street.start], nodes[street.end])]
    return [ends[0], *((via.x, via.y) for via in street.via), ends[1]]


def _has_through_road(arms: list[tuple[float, Street]]) -> bool:
    """Return whether the streets of the highest rank are one road that goes through."""
    highest = max(street.profile.rank for _, street in arms)
    main = [direction for direction, street in arms if street.profile.rank == highest]
    return len(main) == 2 and abs(wrap_to_pi(main[0] - main[1])) > OPPOSITE


def _choose_controls(
    nodes: dict[str, Node],
    streets: list[Street],
    parameters: TownParameters,
    rng: np.random.Generator,
) -> dict[str, Node]:
    """Decide who goes first: lights where avenues cross and at others, signs elsewhere."""
    arms = {name: _list_arm_directions(name, nodes, streets) for name in nodes}
    coins = {name: rng.random(3).tolist() for name in sorted(nodes)}
    order = sorted(nodes, key=lambda name: (not _is_avenue_crossing(arms[name]), coins[name][0]))
    open_ones = [name for name in order[::-1] if _is_street_crossing(arms[name])][:NEVER_LIT]
    order = [name for name in order if name not in open_ones]
    lit = set(order[: max(round(parameters.lights * len(nodes)), 1)])
    return {
        name: replace(
            node,
            control=JunctionControl.LIGHTS
            if name in lit
            else _choose_sign_control(arms[name], parameters, coins[name], name in open_ones),
            corner=7.0 if name in lit else 6.0,
        )
        for name, node in nodes.items()
    }


def _is_avenue_crossing(arms: list[tuple[float, Street]]) -> bool:
    """Return whether four arms meet, all of two lanes."""
    return len(arms) == FOUR_ARMS and all(street.profile.lanes > 1 for _, street in arms)


def _is_street_crossing(arms: list[tuple[float, Street]]) -> bool:
    """Return whether a street crosses an avenue that goes on."""
    return len(arms) == FOUR_ARMS and _has_through_road(arms) and not _is_avenue_crossing(arms)


def _choose_sign_control(
    arms: list[tuple[float, Street]],
    parameters: TownParameters,
    coins: list[float],
    goes_first: bool,
) -> JunctionControl:
    """Choose the signs of a junction: all stop where no road goes through."""
    if not _has_through_road(arms) or (coins[1] < parameters.all_way and not goes_first):
        return JunctionControl.ALL_STOP
    return JunctionControl.YIELD if coins[2] < parameters.yields else JunctionControl.STOP


def _add_pockets(
    nodes: dict[str, Node],
    streets: list[Street],
    parameters: TownParameters,
    rng: np.random.Generator,
) -> tuple[list[Street], dict[str, Node]]:
    """Open left-turn lanes at lights where four arms meet; each arm then has its own green."""
    count = {name: sum(name in {street.start, street.end} for street in streets) for name in nodes}
    # crossings with lights and four arms
    lit = {
        name
        for name, node in nodes.items()
        if node.control is JunctionControl.LIGHTS and count[name] == FOUR_ARMS
    }
    turned = []
    for street in streets:
        # both ends take a number, whether they need it or not
        coins = rng.random(2)
        wanted = [
            street.profile.lanes > 1 and end in lit and coin < parameters.pockets
            for end, coin in zip((street.start, street.end), coins, strict=True)
        ]
        turned.append(replace(street, pockets=_compute_pocket_lengths(street, nodes, wanted)))
    # where an arm has a pocket, every arm has a green for itself
    alone = {
        end
        for street in turned
        for end, pocket in zip((street.start, street.end), street.pockets, strict=True)
        if pocket
    }
    return turned, {name: replace(node, turns=name in alone) for name, node in nodes.items()}


def _compute_pocket_lengths(
    street: Street, nodes: Mapping[str, Node], wanted: list[bool]
) -> tuple[float, float]:
    """Return the lengths of a street's left-turn lanes, 0 where it has no room for any."""
    length = sum(math.dist(a, b) for a, b in pairwise(_list_street_corners(street, nodes)))
    open_ends = [k for k in (0, 1) if wanted[k]]
    spare = length - INSIDE_JUNCTIONS - 2 * max(PARKING_FREE + PARKING_TAPER, POCKET_TAPER)
    if not open_ends:
        return 0.0, 0.0
    pocket = float(math.floor(min(LONGEST_POCKET, spare / len(open_ends))))
    start, end = (pocket if k in open_ends and pocket >= SHORTEST_POCKET else 0.0 for k in (0, 1))
    return start, end
