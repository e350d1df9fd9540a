"""Cross-sections of a street: which lanes it has where, and how wide they are.

A street is wide in the middle and arranges itself before its junctions: the parking lane ends, the
sidewalk grows into its place, a left-turn pocket opens at the centre line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.authoring.document import Cubic, Lane, Mark, Section
from harness.authoring.geometry import TIE
from harness.authoring.plan import Profile

POCKET_WIDTH = 3.25
ISLAND_WIDTH = 0.6
WIDEST_SIDEWALK = 4.0
POCKET_TAPER = 20.0
PARKING_TAPER = 8.0
PARKING_FREE = 8.0
NO_CHANGE = 12.0

TYPES = {"median": "median", "pocket": "driving", "parking": "parking", "sidewalk": "sidewalk"}

Widths = dict[str, float]
"""Lane name to width, from the centre line outward."""


@dataclass(frozen=True)
class CrossSection:
    """A cut through a street: lanes right and left of the centre line, and where that line lies.

    `offset` moves the centre line to the left of the reference line.
    """

    right: Widths
    left: Widths
    offset: float

    def kerb(self, left: bool) -> float:
        """Distance from the reference line to the kerb on one side."""
        side = self.left if left else self.right
        road = sum(width for name, width in side.items() if name != "sidewalk")
        return road + (self.offset if left else -self.offset)


def is_driving(name: str) -> bool:
    """Return whether a lane is a driving lane (pockets included)."""
    return name == "pocket" or name.startswith("drive")


def middle(profile: Profile) -> CrossSection:
    """Cut the street where no junction is near."""
    right, left = (_side(profile, profile.median / 2, 0.0, parking) for parking in profile.parking)
    return _centred(right, left, None)


def mouth(profile: Profile, pocket_right: bool, pocket_left: bool) -> CrossSection:
    """Cut the street at a junction; a pocket belongs to the side that drives towards it."""
    sides = []
    for has_pocket, other in ((pocket_right, pocket_left), (pocket_left, pocket_right)):
        median = profile.median / 2
        if has_pocket:
            median = 0.0
        elif other:
            median = max(profile.median - POCKET_WIDTH, ISLAND_WIDTH)
        sides.append(_side(profile, median, POCKET_WIDTH if has_pocket else 0.0, 0.0))
    return _centred(sides[0], sides[1], middle(profile))


def _side(profile: Profile, median: float, pocket: float, parking: float) -> Widths:
    lanes = {f"drive{k}": profile.lane_width for k in reversed(range(profile.lanes))}
    widths = {"median": median, "pocket": pocket, **lanes, "parking": parking}
    widths["sidewalk"] = profile.sidewalk
    return {name: width for name, width in widths.items() if width > 0}


def _centred(right: Widths, left: Widths, wide: CrossSection | None) -> CrossSection:
    """Put the roadway's middle on the reference line; let sidewalks fill up to `wide`'s edges."""
    bare = CrossSection(right, left, 0.0)
    offset = (bare.kerb(left=False) - bare.kerb(left=True)) / 2
    cut = CrossSection(right, left, offset)
    for side, is_left in ((right, False), (left, True)):
        if wide is not None and "sidewalk" in side:
            spare = wide.kerb(is_left) - cut.kerb(is_left)
            side["sidewalk"] = max(side["sidewalk"], min(side["sidewalk"] + spare, WIDEST_SIDEWALK))
    return cut


@dataclass(frozen=True)
class Zone:
    """The stretch at a junction: the same for `steady` metres, then `taper` metres of change."""

    cut: CrossSection
    steady: float
    taper: float


def zone(profile: Profile, pocket: float, at_end: bool) -> Zone:
    """Lay out one end of a street; the pocket is on the side that drives towards that end."""
    cut = mouth(profile, pocket > 0 and at_end, pocket > 0 and not at_end)
    if pocket > 0:
        return Zone(cut, pocket, POCKET_TAPER)
    if any(profile.parking):
        return Zone(cut, PARKING_FREE, PARKING_TAPER)
    return Zone(cut, 0.0, 0.0)


def blend(start: float, end: float, length: float, station: float = 0.0) -> Cubic:
    """Go from one value to another with level ends."""
    if length <= 0 or abs(end - start) < 1e-9:
        return (station, start, 0.0, 0.0, 0.0)
    rise = end - start
    return (station, start, 0.0, 3 * rise / length**2, -2 * rise / length**3)


@dataclass(frozen=True)
class Stretch:
    """A part of the street between two stations, from one cross-section to another."""

    begin: float
    end: float
    start: CrossSection
    finish: CrossSection

    def sides(self, left: bool) -> tuple[Widths, Widths]:
        """Return one side's lanes at the beginning and at the end."""
        if left:
            return self.start.left, self.finish.left
        return self.start.right, self.finish.right


def quarter(length: float) -> float:
    """Round down to a quarter metre."""
    return math.floor(length * 4 + TIE) / 4


def stretches(profile: Profile, first: Zone, last: Zone, length: float) -> list[Stretch]:
    """Divide a street; inner boundaries fall on quarter metres, exact in any float format."""
    plain = middle(profile)
    begin = [quarter(s) for s in (first.steady, first.steady + first.taper)]
    end = [quarter(length - s) for s in (last.steady + last.taper, last.steady)]
    if end[0] - begin[1] < 1.0:
        raise ValueError(f"{length:.1f} m is too short for what its ends need")
    stations = [0.0, *begin, *end, length]
    cuts = [first.cut, first.cut, plain, plain, last.cut, last.cut]
    parts = [
        Stretch(stations[k], stations[k + 1], cuts[k], cuts[k + 1])
        for k in range(5)
        if stations[k + 1] - stations[k] > TIE
    ]
    if first.steady == 0 == last.steady:
        return [Stretch(0.0, length, plain, plain)]
    return parts


def lane_offset(parts: list[Stretch]) -> tuple[Cubic, ...]:
    """Shift the centre line as the cross-sections ask."""
    return tuple(
        blend(part.start.offset, part.finish.offset, part.end - part.begin, part.begin)
        for part in parts
    )


def _names(part: Stretch, left: bool) -> list[str]:
    start, finish = part.sides(left)
    order = ["median", "pocket", *[f"drive{k}" for k in range(8, -1, -1)], "parking", "sidewalk"]
    return [name for name in order if name in start or name in finish]


def _is_steady(part: Stretch, name: str, left: bool) -> bool:
    start, finish = part.sides(left)
    return name in start and name in finish


def _lane_type(part: Stretch, name: str, left: bool) -> str:
    if name.startswith("drive"):
        return "driving"
    if not _is_steady(part, name, left):
        return {"pocket": "median", "parking": "shoulder"}.get(name, TYPES[name])
    return TYPES[name]


def lane_id(part: Stretch, name: str, left: bool) -> int:
    """Return the OpenDRIVE id of a lane within a stretch."""
    rank = _names(part, left).index(name) + 1
    return rank if left else -rank


def _marks(part: Stretch, name: str, left: bool, *, outer: str | None, length: float) -> list[Mark]:
    """Draw the line between a lane and its outer neighbour: no change of lane near a junction."""
    if outer is None:
        return [Mark(0.0, "none")]
    if outer == "sidewalk":
        return [Mark(0.0, "curb")]
    types = [_lane_type(part, x, left) for x in (name, outer)]
    if types != ["driving", "driving"]:
        return [Mark(0.0, "solid")]
    near, far = (0.0, length) if left else (length, 0.0)
    toll = (near - NO_CHANGE) if near > far else NO_CHANGE
    return _dashed(part, toll, solid_after=near > far) if near != far else [Mark(0.0, "broken")]


def _dashed(part: Stretch, toll: float, solid_after: bool) -> list[Mark]:
    """Dashes that turn solid at station `toll` of the street."""
    dashes, solid = Mark(0.0, "broken", change=True), Mark(0.0, "solid")
    before, after = (dashes, solid) if solid_after else (solid, dashes)
    if toll <= part.begin + TIE:
        return [after]
    if toll >= part.end - TIE:
        return [before]
    return [before, Mark(toll - part.begin, after.type, change=after.change)]


def _linked(part: Stretch, other: Stretch | None, name: str, left: bool) -> int | None:
    """Find the lane that continues `name` in a neighbouring stretch."""
    if other is None or name not in _names(other, left):
        return None
    if name == "pocket" and not (_is_steady(part, name, left) and _is_steady(other, name, left)):
        return None
    return lane_id(other, name, left)


def sections(parts: list[Stretch]) -> tuple[Section, ...]:
    """Write a street's lane sections."""
    length = parts[-1].end
    result = []
    for index, part in enumerate(parts):
        before = parts[index - 1] if index else None
        after = parts[index + 1] if index + 1 < len(parts) else None
        lanes = [Lane(id=0, type="none", widths=(), marks=(_centre_mark(part),))]
        for left in (True, False):
            names = _names(part, left)
            start, finish = part.sides(left)
            for name, outer in zip(names, [*names[1:], None], strict=True):
                width = blend(start.get(name, 0), finish.get(name, 0), part.end - part.begin)
                lanes.append(
                    Lane(
                        id=lane_id(part, name, left),
                        type=_lane_type(part, name, left),
                        widths=(width,),
                        marks=tuple(_marks(part, name, left, outer=outer, length=length)),
                        predecessor=_linked(part, before, name, left),
                        successor=_linked(part, after, name, left),
                    )
                )
        result.append(Section(part.begin, tuple(lanes)))
    return tuple(result)


def _centre_mark(part: Stretch) -> Mark:
    if len([name for name in part.start.right if is_driving(name)]) > 1:
        return Mark(0.0, "solid solid", "yellow")
    return Mark(0.0, "broken" if part.start == part.finish else "solid", "yellow")
