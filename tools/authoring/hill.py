"""CrucibleHill: suburban loops over a hill, on both sides of an avenue with a median."""

from __future__ import annotations

from harness.authoring.plan import JunctionControl, Node, Street, StreetProfile, TownPlan, Via

AVENUE = StreetProfile(lanes=2, sidewalk=3.0, median=4.5, speed=60, rank=3)
COLLECTOR = StreetProfile(lanes=1, lane_width=3.5, sidewalk=2.2, speed=50, rank=2)
HOME = StreetProfile(lanes=1, lane_width=3.2, parking=(2.6, 2.6), sidewalk=2.0, speed=30, rank=1)

LIGHTS, ALL_STOP = JunctionControl.LIGHTS, JunctionControl.ALL_STOP
STOP, YIELD = JunctionControl.STOP, JunctionControl.YIELD

NODES = {
    "avenue west": Node(-225, 0, 0.0, LIGHTS, corner=7),
    "avenue 1": Node(-85, 14, 2.0, LIGHTS, corner=7, turns=True),
    "avenue 2": Node(70, -12, 1.0, LIGHTS, corner=7),
    "avenue east": Node(220, 4, 3.0, LIGHTS, corner=7),
    "hilltop": Node(-92, 138, 8.0, ALL_STOP, corner=6),
    "saddle": Node(-14, 128, 6.5, STOP, corner=6),
    "orchard": Node(66, 132, 5.0, STOP, corner=6),
    "crest": Node(-10, 208, 7.0, YIELD, corner=6),
    "brook west": Node(-80, -122, 3.0, STOP, corner=6),
    "brook": Node(4, -118, 1.5, YIELD, corner=6),
    "brook east": Node(84, -126, 0.0, ALL_STOP, corner=6),
    "hollow": Node(2, -196, 5.0, YIELD, corner=6),
}

STREETS = (
    Street(
        "Avenue W", "avenue west", "avenue 1", AVENUE, via=(Via(-160, 0, 150),), pockets=(0, 35)
    ),
    Street(
        "Avenue M",
        "avenue 1",
        "avenue 2",
        AVENUE,
        via=(Via(-40, 14, 120), Via(30, -12, 120)),
        pockets=(30, 30),
    ),
    Street(
        "Avenue E", "avenue 2", "avenue east", AVENUE, via=(Via(140, -12, 150),), pockets=(35, 0)
    ),
    Street("Upper Road W", "avenue west", "hilltop", COLLECTOR, via=(Via(-225, 138, 60),)),
    Street("Upper Road 1", "hilltop", "saddle", COLLECTOR, via=(Via(-50, 138, 60),)),
    Street("Upper Road 2", "saddle", "orchard", COLLECTOR, via=(Via(30, 120, 60),)),
    Street("Upper Road E", "orchard", "avenue east", COLLECTOR, via=(Via(215, 132, 70),)),
    Street("Lower Road W", "avenue west", "brook west", COLLECTOR, via=(Via(-220, -128, 65),)),
    Street("Lower Road 1", "brook west", "brook", COLLECTOR, via=(Via(-40, -110, 60),)),
    Street("Lower Road 2", "brook", "brook east", COLLECTOR, via=(Via(44, -128, 60),)),
    Street("Lower Road E", "brook east", "avenue east", COLLECTOR, via=(Via(220, -122, 70),)),
    Street("Chapel Hill", "avenue 1", "hilltop", HOME, via=(Via(-80, 60, 40), Via(-96, 100, 40))),
    Street("Orchard Way", "avenue 2", "orchard", HOME, via=(Via(76, 40, 60), Via(60, 90, 60))),
    Street("Brook Street", "avenue 1", "brook west", HOME, via=(Via(-92, -60, 60),)),
    Street("Ford Street", "avenue 2", "brook east", HOME, via=(Via(62, -70, 50),)),
    Street("Crescent W", "hilltop", "crest", HOME, via=(Via(-92, 205, 40),)),
    Street("Crescent E", "crest", "orchard", HOME, via=(Via(66, 212, 40),)),
    Street("Crest Walk", "saddle", "crest", HOME, via=(Via(-22, 165, 40),)),
    Street("Hollow W", "brook west", "hollow", HOME, via=(Via(-84, -196, 35),)),
    Street("Hollow E", "hollow", "brook east", HOME, via=(Via(90, -198, 35),)),
    Street("Hollow Walk", "brook", "hollow", HOME),
)

PLAN = TownPlan("CrucibleHill", NODES, STREETS, latitude=51.0, longitude=13.7)
