"""The layout of ETSI EN 302 637-3 (V1.3.1): decentralised environmental notification messages."""

from __future__ import annotations

from harness.channel.messages.data_release1 import (
    CAUSE_CODE,
    CLOSED_LANES,
    DANGEROUS_GOODS_EXTENDED,
    DELTA_POSITION,
    HEADER,
    HEADING,
    LANE_POSITION,
    LIGHT_BAR,
    PATH_DELTA_TIME,
    PATH_HISTORY,
    REFERENCE_POSITION,
    SPEED,
    SPEED_LIMIT,
    STATION_ID,
    STATION_TYPE,
    TIMESTAMP,
    TRAFFIC_RULE,
    VEHICLE_IDENTIFICATION,
)
from harness.channel.messages.uper import (
    BitString,
    Enumerated,
    Integer,
    Maybe,
    SequenceOf,
    Size,
    open_sequence,
    sequence,
)

USUAL_VALIDITY = 600
"""Seconds for which an event is valid where the message does not say."""

ACTION_ID = sequence(originatingStationID=STATION_ID, sequenceNumber=Integer(0, 65535))
QUALITY = Integer(0, 7)
RELEVANCE_DISTANCE = Enumerated(
    (
        *("lessThan50m", "lessThan100m", "lessThan200m", "lessThan500m"),
        *("lessThan1000m", "lessThan5km", "lessThan10km", "over10km"),
    )
)
MANAGEMENT = open_sequence(
    actionID=ACTION_ID,
    detectionTime=TIMESTAMP,
    referenceTime=TIMESTAMP,
    termination=Maybe(Enumerated(("isCancellation", "isNegation"))),
    eventPosition=REFERENCE_POSITION,
    relevanceDistance=Maybe(RELEVANCE_DISTANCE),
    relevanceTrafficDirection=Maybe(
        Enumerated(
            ("allTrafficDirections", "upstreamTraffic", "downstreamTraffic", "oppositeTraffic")
        )
    ),
    validityDuration=Maybe(Integer(0, 86400), default=USUAL_VALIDITY),  # s
    transmissionInterval=Maybe(Integer(1, 10000)),  # ms
    stationType=STATION_TYPE,
)
SITUATION = open_sequence(
    informationQuality=QUALITY,
    eventType=CAUSE_CODE,
    linkedCause=Maybe(CAUSE_CODE),
    eventHistory=Maybe(
        SequenceOf(
            sequence(
                eventPosition=DELTA_POSITION,
                eventDeltaTime=Maybe(PATH_DELTA_TIME),
                informationQuality=QUALITY,
            ),
            Size(1, 23),
        )
    ),
)
LOCATION = open_sequence(
    eventSpeed=Maybe(SPEED),
    eventPositionHeading=Maybe(HEADING),
    traces=SequenceOf(PATH_HISTORY, Size(1, 7)),
    roadType=Maybe(
        Enumerated(
            (
                "urban-NoStructuralSeparationToOppositeLanes",
                "urban-WithStructuralSeparationToOppositeLanes",
                "nonUrban-NoStructuralSeparationToOppositeLanes",
                "nonUrban-WithStructuralSeparationToOppositeLanes",
            )
        )
    ),
)
IMPACT_REDUCTION = sequence(
    heightLonCarrLeft=Integer(1, 100),  # cm
    heightLonCarrRight=Integer(1, 100),
    posLonCarrLeft=Integer(1, 127),
    posLonCarrRight=Integer(1, 127),
    positionOfPillars=SequenceOf(Integer(1, 30), Size(1, 3, extensible=True)),  # 0.1 m
    posCentMass=Integer(1, 63),  # 0.1 m
    wheelBaseVehicle=Integer(1, 127),
    turningRadius=Integer(1, 255),  # 0.4 m
    posFrontAx=Integer(1, 20),  # 0.1 m
    positionOfOccupants=BitString(Size(20, 20)),
    vehicleMass=Integer(1, 1024),  # 100 kg
    requestResponseIndication=Enumerated(("request", "response")),
)
ROAD_WORKS = sequence(
    lightBarSirenInUse=Maybe(LIGHT_BAR),
    closedLanes=Maybe(CLOSED_LANES),
    restriction=Maybe(SequenceOf(STATION_TYPE, Size(1, 3, extensible=True))),
    speedLimit=Maybe(SPEED_LIMIT),
    incidentIndication=Maybe(CAUSE_CODE),
    recommendedPath=Maybe(SequenceOf(REFERENCE_POSITION, Size(1, 40))),
    startingPointSpeedLimit=Maybe(DELTA_POSITION),
    trafficFlowRule=Maybe(TRAFFIC_RULE),
    referenceDenms=Maybe(SequenceOf(ACTION_ID, Size(1, 8, extensible=True))),
)
STATIONARY_VEHICLE = sequence(
    stationarySince=Maybe(
        Enumerated(
            ("lessThan1Minute", "lessThan2Minutes", "lessThan15Minutes", "equalOrGreater15Minutes")
        )
    ),
    stationaryCause=Maybe(CAUSE_CODE),
    carryingDangerousGoods=Maybe(DANGEROUS_GOODS_EXTENDED),
    numberOfOccupants=Maybe(Integer(0, 127)),
    vehicleIdentification=Maybe(VEHICLE_IDENTIFICATION),
    energyStorageType=Maybe(BitString(Size(7, 7))),
)
ALACARTE = open_sequence(
    lanePosition=Maybe(LANE_POSITION),
    impactReduction=Maybe(IMPACT_REDUCTION),
    externalTemperature=Maybe(Integer(-60, 67)),  # degrees Celsius
    roadWorks=Maybe(ROAD_WORKS),
    positioningSolution=Maybe(
        Enumerated(
            (
                *("noPositioningSolution", "sGNSS", "dGNSS"),
                *("sGNSSplusDR", "dGNSSplusDR", "dR"),
            ),
            extensible=True,
        )
    ),
    stationaryVehicle=Maybe(STATIONARY_VEHICLE),
)
DENM = sequence(
    header=HEADER,
    denm=sequence(
        management=MANAGEMENT,
        situation=Maybe(SITUATION),
        location=Maybe(LOCATION),
        alacarte=Maybe(ALACARTE),
    ),
)
