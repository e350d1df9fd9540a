"""The road network as drivers see it: links between decisions, sampled evenly along the way.

OpenDRIVE cuts lanes wherever anything changes, down to slivers of a centimetre. A link joins all
lanes that leave no choice, so a route is a short list of links, and a place on it is found from
its station by one division.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.carlite.arrays import Bools, Floats, Int32s, Ints
from harness.carlite.towns.model import LaneKind, TownLanes
from harness.carlite.traffic.records import RecordRows, as_columns, make_record_dtype

SPACING = 1.0
MIN_LENGTH = 1e-3


class TrafficLink(Protocol):
    """A stretch without a choice; it owns the points `first … first + count - 1`.

    Attributes:
        length, step: metres in all and between two points.
        junction: OpenDRIVE junction id, -1 outside.
        next_first, next_count: its slice of `Network.onward`, the links that follow.
        dead_end: whether every way on from here ends.
        turn: change of heading from start to end, positive to the right.
    """

    first: int
    count: int
    length: float
    step: float
    junction: int
    next_first: int
    next_count: int
    dead_end: bool
    turn: float


class LinkPoint(Protocol):
    """A place on the centre line of a link.

    Attributes:
        left, right: the nearest point in the neighbouring lane of the same direction, -1 if none.
        change: what the markings allow, bit 1 to the left, bit 2 to the right.
        link: its link. lane: its lane in the town.
        room: metres to the right that are free of scenery, see `verge`.
    """

    x: float
    y: float
    z: float
    yaw: float
    curvature: float
    width: float
    speed_limit: float
    left: int
    right: int
    change: int
    link: int
    lane: int
    room: float


class TrafficNetwork(NamedTuple):
    """All links, all their points, and which links follow which."""

    links: RecordRows[TrafficLink]
    points: RecordRows[LinkPoint]
    onward: Ints

    def get_link_points(self, link: int) -> NDArray[np.void]:
        """Return the points of a link."""
        row = as_columns(self.links)[link]
        return as_columns(self.points)[row["first"] : row["first"] + row["count"]]

    def list_next_links(self, link: int) -> list[int]:
        """Return the links that follow a link."""
        row = as_columns(self.links)[link]
        following: list[int] = self.onward[row["next_first"] :][: row["next_count"]].tolist()
        return following


LINK, POINT = make_record_dtype(TrafficLink), make_record_dtype(LinkPoint)


class LanePlacement(NamedTuple):
    """Where each lane of the town lies in the network: its link (-1 if none) and first station."""

    link: Int32s
    station: Floats


def build_traffic_network(lanes: TownLanes) -> tuple[TrafficNetwork, LanePlacement]:
    """Join the driving lanes of a town into links."""
    after, before = _list_driving_neighbours(lanes)
    # a link is a chain of lanes; placement says which, and where a lane begins on it
    chains = _find_lane_chains(lanes, after, before)
    placement = LanePlacement(
        np.full(len(lanes.kind), -1, np.int32), np.zeros(len(lanes.kind), np.float64)
    )
    for link, chain in enumerate(chains):
        placement.link[chain] = link
        placement.station[chain] = np.concatenate(([0.0], np.cumsum(lanes.length[chain])[:-1]))
    # arrays of links and of their points
    links = _build_links(lanes, chains)
    points = _build_points(lanes, chains, links)
    # ways on from each link, as one flat list
    onward = [[int(placement.link[lane]) for lane in after[chain[-1]]] for chain in chains]
    links["next_count"] = [len(ways) for ways in onward]
    links["next_first"] = np.cumsum(links["next_count"]) - links["next_count"]
    links["dead_end"] = _find_dead_ends(onward)
    # the points of links next to these
    for side, neighbour in (("left", lanes.left), ("right", lanes.right)):
        points[side] = _find_point_neighbours(
            lanes, placement, links=links, points=points, neighbour=neighbour
        )
    network = TrafficNetwork(
        links, points, np.array([k for ways in onward for k in ways], np.int64)
    )
    return network, placement


def _build_links(lanes: TownLanes, chains: list[list[int]]) -> NDArray[np.void]:
    links = np.zeros(len(chains), LINK)
    links["length"] = [max(lanes.length[chain].sum(), MIN_LENGTH) for chain in chains]
    links["count"] = np.maximum(np.ceil(links["length"] / SPACING), 1) + 1
    links["first"] = np.cumsum(links["count"]) - links["count"]
    links["step"] = links["length"] / (links["count"] - 1)
    links["junction"] = lanes.junction[[chain[0] for chain in chains]]
    return links


def _build_points(
    lanes: TownLanes, chains: list[list[int]], links: NDArray[np.void]
) -> NDArray[np.void]:
    points = np.zeros(int(links["count"].sum()), POINT)
    for k, chain in enumerate(chains):
        rows = points[links["first"][k] : links["first"][k] + links["count"][k]]
        _sample_chain(lanes, chain, float(links["length"][k]), rows)
        rows["link"] = k
        rows["curvature"] = _compute_curvature(rows["yaw"], float(links["step"][k]))
        links["turn"][k] = rows["yaw"][-1] - rows["yaw"][0]
    return points


def _list_driving_neighbours(lanes: TownLanes) -> tuple[list[list[int]], list[list[int]]]:
    """List the driving successors and predecessors of each lane, in agreement with each other."""
    driving = lanes.kind == LaneKind.DRIVING
    after: list[list[int]] = [[] for _ in lanes.kind]
    before: list[list[int]] = [[] for _ in lanes.kind]
    for lane in np.flatnonzero(driving):
        start = lanes.next_first[lane]
        for follower in lanes.next[start : start + lanes.next_count[lane]]:
            if driving[follower] and follower not in after[lane]:
                after[lane].append(int(follower))
                before[follower].append(int(lane))
    return after, before


def _find_lane_chains(
    lanes: TownLanes, after: list[list[int]], before: list[list[int]]
) -> list[list[int]]:
    """Partition the driving lanes into runs without a choice, none across a junction's edge."""

    def joined(lane: int) -> int:
        """The lane that simply goes on from this one, or -1."""
        if len(after[lane]) != 1 or len(before[after[lane][0]]) != 1:
            return -1
        same = lanes.junction[lane] == lanes.junction[after[lane][0]]
        return after[lane][0] if same else -1

    driving = [int(lane) for lane in np.flatnonzero(lanes.kind == LaneKind.DRIVING)]
    # a chain begins where no lane simply goes on to
    continued = {joined(lane) for lane in driving}
    heads = [lane for lane in driving if lane not in continued]
    chains: list[list[int]] = []
    seen: set[int] = set()
    # follow it to its end
    for head in heads + driving:  # rings have no head: any lane of them starts one
        chain: list[int] = []
        lane = head
        while lane >= 0 and lane not in seen:
            seen.add(lane)
            chain.append(lane)
            lane = joined(lane)
        if chain:
            chains.append(chain)
    return chains


def _sample_chain(lanes: TownLanes, chain: list[int], total: float, rows: NDArray[np.void]) -> None:
    """Fill in the points of a chain of lanes at even stations."""
    # (samples,) of all lanes, and their stations on the link, m
    known = np.concatenate([np.arange(lanes.count[lane]) + lanes.first[lane] for lane in chain])
    starts = np.cumsum(lanes.length[chain]) - lanes.length[chain]
    part = np.repeat(np.arange(len(chain)), lanes.count[chain])
    along = starts[part] + lanes.station[known]
    # (points,) even stations: places and directions between samples
    station = np.linspace(0.0, total, len(rows))
    for axis, name in enumerate("xyz"):
        rows[name] = np.interp(station, along, lanes.points[known, axis])
    rows["yaw"] = np.interp(station, along, np.unwrap(lanes.yaw[known]))
    rows["width"] = np.interp(station, along, lanes.width[known])
    # the lane and its limit are those that a point lies on
    here = np.clip(np.searchsorted(starts, station, side="right") - 1, 0, len(chain) - 1)
    rows["lane"] = np.array(chain)[here]
    rows["speed_limit"] = lanes.speed_limit[rows["lane"]]
    nearest = np.clip(np.searchsorted(along, station), 0, len(along) - 1)
    rows["change"] = lanes.change[known[nearest]]


def _compute_curvature(yaw: Floats, step: float) -> Floats:
    """Turn per metre, averaged over about four metres: a wheel does not follow every sample."""
    if len(yaw) < 3 or step < 0.05:
        return np.zeros(len(yaw))
    reach = max(1, round(2.0 / step))
    index = np.arange(len(yaw))
    low, high = np.maximum(index - reach, 0), np.minimum(index + reach, len(yaw) - 1)
    return np.asarray((yaw[high] - yaw[low]) / ((high - low) * step))


def _find_dead_ends(onward: list[list[int]]) -> Bools:
    """Find the links from which every way ends somewhere."""
    dead = np.zeros(len(onward), np.bool_)
    changed = True
    while changed:
        changed = False
        for link, ways in enumerate(onward):
            if not dead[link] and all(dead[way] for way in ways):
                dead[link] = changed = True
    return dead


def _find_point_neighbours(
    lanes: TownLanes,
    placement: LanePlacement,
    *,
    links: NDArray[np.void],
    points: NDArray[np.void],
    neighbour: Int32s,
) -> Ints:
    """For each point find the one at the same share of the neighbouring lane, -1 without one."""
    lane, step = points["lane"], links["step"][points["link"]]
    station = (np.arange(len(points)) - links["first"][points["link"]]) * step
    station -= placement.station[lane]
    other = neighbour[lane]
    link = np.where(other >= 0, placement.link[other], -1)
    share = station / np.maximum(lanes.length[lane], MIN_LENGTH)
    along = placement.station[other] + share * lanes.length[other]
    index = np.clip(np.rint(along / links["step"][link]), 0, links["count"][link] - 1)
    return np.where(link >= 0, links["first"][link] + index.astype(np.int64), -1)
