"""Crucible05: a downtown grid of wide streets, with quieter ones inside its blocks."""

from __future__ import annotations

from harness.authoring.plan import Hall, JunctionControl, Node, Street, StreetProfile, TownPlan, Via

AVENUE = StreetProfile(lanes=2, sidewalk=3.0, speed=50, rank=3)
PARKED = StreetProfile(lanes=2, parking=(2.6, 2.6), sidewalk=2.6, speed=50, rank=3)
BELT = StreetProfile(lanes=2, sidewalk=2.5, speed=60, rank=3)
BELT_INNER = StreetProfile(lanes=2, parking=(2.6, 0.0), sidewalk=2.5, speed=60, rank=3)
BELT_PARKED = StreetProfile(lanes=2, parking=(2.6, 2.6), sidewalk=2.5, speed=60, rank=3)
LANE = StreetProfile(lanes=1, lane_width=3.3, parking=(2.6, 2.6), sidewalk=2.4, speed=30, rank=1)

LIGHTS, STOP, YIELD = JunctionControl.LIGHTS, JunctionControl.STOP, JunctionControl.YIELD

NODES = {
    "north-west": Node(-75, 190),
    "north": Node(75, 190, 1.0),
    "north-mid": Node(-145, 190, control=STOP, corner=6),
    "west-north": Node(-215, 65),
    "west-mid": Node(-215, 0, control=YIELD, corner=6),
    "west-south": Node(-215, -65, control=STOP),
    "east-north": Node(215, 65, 3.0),
    "east-south": Node(215, -65, 2.0),
    "south-west": Node(-75, -190),
    "south-mid": Node(0, -190, control=STOP, corner=6),
    "south-east": Node(75, -190, 0.75),
    "centre-nw": Node(-75, 65, turns=True),
    "centre-ne": Node(75, 65, 0.5, turns=True),
    "centre-sw": Node(-75, -65),
    "centre-se": Node(75, -65, 0.5),
    "market-north": Node(0, 65, control=STOP, corner=6),
    "market-south": Node(0, -65, control=STOP, corner=6),
    "school": Node(-145, 65, control=STOP, corner=6),
    "mill": Node(-75, 0, control=YIELD, corner=6),
    "garden-north": Node(145, 65, 1.75, control=YIELD, corner=6),
    "garden-south": Node(145, -65, 1.25, control=STOP, corner=6),
}

STREETS = (
    # the belt, clockwise from the north
    Street("Belt N1", "north-mid", "north-west", BELT),
    Street("Belt N2", "north-west", "north", BELT_PARKED),
    Street("Belt NE", "north", "east-north", BELT_INNER, via=(Via(215, 190, 45),)),
    Street("Belt E", "east-north", "east-south", BELT_PARKED),
    Street("Belt SE", "east-south", "south-east", BELT_INNER, via=(Via(215, -190, 45),)),
    Street("Belt S2", "south-east", "south-mid", BELT),
    Street("Belt S1", "south-mid", "south-west", BELT),
    Street("Belt SW", "south-west", "west-south", BELT_INNER, via=(Via(-215, -190, 60),)),
    Street("Belt W1", "west-south", "west-mid", BELT),
    Street("Belt W2", "west-mid", "west-north", BELT),
    Street("Belt NW", "west-north", "north-mid", BELT_INNER, via=(Via(-215, 190, 50),)),
    # the avenue along y = 65, with left-turn lanes at the crossings
    Street("Avenue 1", "west-north", "school", AVENUE),
    Street("Avenue 2", "school", "centre-nw", AVENUE),
    Street("Avenue 3", "centre-nw", "market-north", AVENUE),
    Street("Avenue 4", "market-north", "centre-ne", AVENUE),
    Street("Avenue 5", "centre-ne", "garden-north", AVENUE),
    Street("Avenue 6", "garden-north", "east-north", AVENUE),
    # Main Street along x = -75
    Street("Main 1", "north-west", "centre-nw", PARKED, pockets=(0, 30)),
    Street("Main 2", "centre-nw", "mill", AVENUE),
    Street("Main 3", "mill", "centre-sw", AVENUE),
    Street("Main 4", "centre-sw", "south-west", PARKED, pockets=(30, 0)),
    # Station Road along y = -65
    Street("Station 1", "west-south", "centre-sw", PARKED, pockets=(0, 30)),
    Street("Station 2", "centre-sw", "market-south", AVENUE),
    Street("Station 3", "market-south", "centre-se", AVENUE),
    Street("Station 4", "centre-se", "garden-south", AVENUE),
    Street("Station 5", "garden-south", "east-south", AVENUE),
    # Hill Street along x = 75
    Street("Hill 1", "north", "centre-ne", PARKED, pockets=(0, 30)),
    Street("Hill 2", "centre-ne", "centre-se", AVENUE, pockets=(25, 25)),
    Street("Hill 3", "centre-se", "south-east", PARKED, pockets=(30, 0)),
    # the quieter streets
    Street("School Lane", "north-mid", "school", LANE),
    Street(
        "Market Street",
        "market-north",
        "market-south",
        LANE,
        halls=(Hall(along=20.0, aside=36.0, length=12.0, width=18.0, height=9.0),),
    ),
    Street(
        "Canal Street", "market-south", "south-mid", LANE, via=(Via(0, -105, 25), Via(14, -140, 25))
    ),
    Street("Mill Lane", "west-mid", "mill", LANE, via=(Via(-165, 0, 40), Via(-125, 0, 40))),
    Street(
        "Garden Walk",
        "garden-north",
        "garden-south",
        LANE,
        via=(Via(145, 25, 20), Via(135, -25, 20)),
    ),
)

PLAN = TownPlan("Crucible05", NODES, STREETS, latitude=48.1, longitude=11.5)
