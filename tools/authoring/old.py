"""CrucibleOld: an old town, narrow and crooked, where most streets just run into one another."""

from __future__ import annotations

from harness.authoring.plan import JunctionControl, Node, Street, StreetProfile, TownPlan, Via

WALL_ROAD = StreetProfile(lanes=1, lane_width=3.25, sidewalk=2.0, speed=50, rank=3)
WALL_PARKED = StreetProfile(
    lanes=1, lane_width=3.25, parking=(2.6, 0.0), sidewalk=2.0, speed=50, rank=3
)
STREET = StreetProfile(lanes=1, lane_width=3.0, sidewalk=1.8, speed=30, rank=2)
PARKED = StreetProfile(lanes=1, lane_width=3.0, parking=(2.6, 0.0), sidewalk=1.8, speed=30, rank=2)
PARKED_LEFT = StreetProfile(
    lanes=1, lane_width=3.0, parking=(0.0, 2.6), sidewalk=1.8, speed=30, rank=2
)
ALLEY = StreetProfile(lanes=1, lane_width=3.0, sidewalk=1.5, speed=20, rank=1)

LIGHTS, ALL_STOP = JunctionControl.LIGHTS, JunctionControl.ALL_STOP
STOP, YIELD = JunctionControl.STOP, JunctionControl.YIELD

NODES = {
    "west gate": Node(-158, 12, 1.0, YIELD, corner=5),
    "north-west gate": Node(-96, 128, 2.0, LIGHTS, corner=5),
    "north gate": Node(14, 152, 2.0, STOP, corner=5),
    "north-east gate": Node(118, 102, 1.0, YIELD, corner=5),
    "east gate": Node(156, -18, 0.0, LIGHTS, corner=5),
    "south-east gate": Node(92, -122, 0.0, STOP, corner=5),
    "south-west gate": Node(-112, -104, 0.5, YIELD, corner=5),
    "church": Node(-58, 52, 3.0, YIELD, corner=4.5),
    "market": Node(4, 66, 3.0, YIELD, corner=4.5),
    "well": Node(58, 44, 2.5, ALL_STOP, corner=4.5),
    "town hall": Node(66, -14, 2.0, YIELD, corner=4.5),
    "granary": Node(38, -62, 1.0, STOP, corner=4.5),
    "tannery": Node(-50, -50, 1.5, YIELD, corner=4.5),
    "abbey": Node(-70, 4, 2.5, ALL_STOP, corner=4.5),
    "bakery": Node(-2, 8, 3.0, YIELD, corner=4.5),
}

STREETS = (
    # along the old wall
    Street("Wall 1", "west gate", "north-west gate", WALL_PARKED, via=(Via(-152, 80, 40),)),
    Street("Wall 2", "north-west gate", "north gate", WALL_ROAD, via=(Via(-45, 158, 60),)),
    Street("Wall 3", "north gate", "north-east gate", WALL_PARKED, via=(Via(75, 148, 40),)),
    Street("Wall 4", "north-east gate", "east gate", WALL_ROAD, via=(Via(158, 52, 45),)),
    Street("Wall 5", "east gate", "south-east gate", WALL_PARKED, via=(Via(150, -82, 35),)),
    Street(
        "Wall 6",
        "south-east gate",
        "south-west gate",
        WALL_PARKED,
        via=(Via(40, -150, 50), Via(-60, -146, 60)),
    ),
    Street("Wall 7", "south-west gate", "west gate", WALL_ROAD, via=(Via(-160, -60, 40),)),
    # from the gates inwards
    Street("Gate Lane", "west gate", "abbey", PARKED_LEFT, via=(Via(-112, 18, 30),)),
    Street("Church Street", "north-west gate", "church", PARKED, via=(Via(-74, 92, 30),)),
    Street("North Street", "north gate", "market", PARKED, via=(Via(20, 108, 40),)),
    Street("Bell Lane", "north-east gate", "well", PARKED_LEFT, via=(Via(96, 64, 25),)),
    Street("East Street", "east gate", "town hall", PARKED, via=(Via(112, -6, 40),)),
    Street("Mill Street", "south-east gate", "granary", PARKED_LEFT, via=(Via(58, -104, 25),)),
    Street("Tanner Street", "south-west gate", "tannery", PARKED, via=(Via(-84, -68, 30),)),
    # round the old centre
    Street("Abbey Row", "abbey", "church", ALLEY),
    Street("Church Row", "church", "market", ALLEY, via=(Via(-28, 70, 30),)),
    Street("Market Row", "market", "well", ALLEY),
    Street("Well Row", "well", "town hall", ALLEY),
    Street("Hall Row", "town hall", "granary", ALLEY, via=(Via(60, -46, 20),)),
    Street("Granary Row", "granary", "tannery", ALLEY, via=(Via(-6, -76, 40),)),
    Street("Tanner Row", "tannery", "abbey", ALLEY, via=(Via(-72, -30, 20),)),
    # across it
    Street("Baker Lane", "abbey", "bakery", ALLEY, via=(Via(-36, -4, 25),)),
    Street("Crown Lane", "bakery", "town hall", ALLEY, via=(Via(34, -2, 30),)),
    Street("Short Lane", "bakery", "market", ALLEY),
)

PLAN = TownPlan("CrucibleOld", NODES, STREETS, latitude=49.4, longitude=11.1)
