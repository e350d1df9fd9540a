"""The layout of ETSI TS 103 324 (V2.1.1): collective perception messages, release 2.

Types of TS 102 894-2, release 2, stand here as far as this message needs them.
"""

from __future__ import annotations

from harness.channel.messages.data_release1 import (
    BYTE,
    REFERENCE_POSITION,
    SPEED,
    STATION_ID,
    TIMESTAMP,
    VEHICLE_WIDTH,
)
from harness.channel.messages.uper import (
    BitString,
    Boolean,
    Choice,
    Enumerated,
    Integer,
    Maybe,
    OpenField,
    SequenceOf,
    Size,
    UperType,
    open_sequence,
    sequence,
)

VEHICLE_CONTAINER, ROADSIDE_CONTAINER, SENSORS_CONTAINER, REGIONS_CONTAINER, OBJECTS_CONTAINER = (
    range(1, 6)
)
"""Numbers of the containers."""

# numbers
IDENTIFIER = Integer(0, 65535)
DELTA_TIME = Integer(-2048, 2047)  # ms
CONFIDENCE_LEVEL = Integer(1, 101)  # %; 101: unavailable
LENGTH_8 = Integer(0, 255)  # 0.1 m
LENGTH_12 = Integer(0, 4095)  # 0.1 m
ANGLE_VALUE = Integer(0, 3601)  # 0.1 degrees; 3601: unavailable
CONFIDENCE_127 = Integer(1, 127)  # 126: out of range; 127: unavailable
ANGLE = sequence(value=ANGLE_VALUE, confidence=CONFIDENCE_127)  # 0.1 degrees, both
SENSOR_IDS = SequenceOf(BYTE, Size(1, 128, extensible=True))

# objects: x to the east, y to the north, z up
COORDINATE = sequence(
    value=Integer(-131072, 131071),  # cm; the bounds: out of range
    confidence=Integer(1, 4096),  # cm; 4096: unavailable
)
VELOCITY = sequence(
    value=Integer(-16383, 16383),  # cm/s; 16383: unavailable
    confidence=CONFIDENCE_127,  # cm/s
)
ACCELERATION_CONFIDENCE = Integer(0, 102)  # 0.1 m/s²; 102: unavailable
ACCELERATION = sequence(value=Integer(-160, 161), confidence=ACCELERATION_CONFIDENCE)  # 0.1 m/s²
DIMENSION = sequence(
    value=Integer(1, 256),  # 0.1 m; 255: out of range; 256: unavailable
    confidence=Integer(1, 32),  # 0.1 m; 32: unavailable
)
CORRELATIONS = SequenceOf(
    sequence(
        componentsIncludedIntheMatrix=BitString(Size(13, 13, extensible=True)),
        matrix=SequenceOf(
            SequenceOf(Integer(-100, 101), Size(1, 13, extensible=True)),
            Size(1, 13, extensible=True),
        ),
    ),
    Size(1, 4),
)
MAP_REFERENCE = Choice(
    {
        "roadsegment": sequence(region=Maybe(IDENTIFIER), id=IDENTIFIER),
        "intersection": sequence(region=Maybe(IDENTIFIER), id=IDENTIFIER),
    }
)

# shapes
POINT = sequence(
    xCoordinate=Integer(-32768, 32767),  # cm
    yCoordinate=Integer(-32768, 32767),
    zCoordinate=Maybe(Integer(-32768, 32767)),
)
SMALL_COORDINATE = Integer(-3094, 1001)  # cm
OPENING: dict[str, UperType | Maybe] = {
    "range": LENGTH_12,
    "horizontalOpeningAngleStart": ANGLE_VALUE,
    "horizontalOpeningAngleEnd": ANGLE_VALUE,
    "verticalOpeningAngleStart": Maybe(ANGLE_VALUE),
    "verticalOpeningAngleEnd": Maybe(ANGLE_VALUE),
}
SHAPE = Choice(
    {
        "rectangular": sequence(
            shapeReferencePoint=Maybe(POINT),
            semiLength=LENGTH_12,
            semiBreadth=LENGTH_12,
            orientation=Maybe(ANGLE_VALUE),
            height=Maybe(LENGTH_12),
        ),
        "circular": sequence(
            shapeReferencePoint=Maybe(POINT), radius=LENGTH_12, height=Maybe(LENGTH_12)
        ),
        "polygonal": sequence(
            shapeReferencePoint=Maybe(POINT),
            polygon=SequenceOf(POINT, Size(3, 16, extensible=True)),
            height=Maybe(LENGTH_12),
        ),
        "elliptical": sequence(
            shapeReferencePoint=Maybe(POINT),
            semiMajorAxisLength=LENGTH_12,
            semiMinorAxisLength=LENGTH_12,
            orientation=Maybe(ANGLE_VALUE),
            height=Maybe(LENGTH_12),
        ),
        "radial": sequence(shapeReferencePoint=Maybe(POINT), **OPENING),
        "radialShapes": sequence(
            refPointId=BYTE,
            xCoordinate=SMALL_COORDINATE,
            yCoordinate=SMALL_COORDINATE,
            zCoordinate=Maybe(SMALL_COORDINATE),
            radialShapesList=SequenceOf(sequence(**OPENING), Size(1, 16, extensible=True)),
        ),
    },
    extensible=True,
)

# what an object is
OBJECT_CLASS = Choice(
    {
        "vehicleSubClass": Integer(0, 14),  # 0 unknown, 5 car, 8 heavy truck; not of two wheels
        "vruSubClass": Choice(
            {
                "pedestrian": Integer(0, 15),
                "bicyclistAndLightVruVehicle": Integer(0, 15),
                "motorcyclist": Integer(0, 15),
                "animal": Integer(0, 15),
            },
            extensible=True,
        ),
        "groupSubClass": open_sequence(
            clusterId=Maybe(BYTE),
            clusterBoundingBoxShape=Maybe(SHAPE),
            clusterCardinalitySize=BYTE,
            clusterProfiles=Maybe(BitString(Size(4, 4))),
        ),
        "otherSubClass": BYTE,
    },
    extensible=True,
)
PERCEIVED_OBJECT = open_sequence(
    objectId=Maybe(IDENTIFIER),
    measurementDeltaTime=DELTA_TIME,
    position=sequence(
        xCoordinate=COORDINATE, yCoordinate=COORDINATE, zCoordinate=Maybe(COORDINATE)
    ),
    velocity=Maybe(
        Choice(
            {
                "polarVelocity": sequence(
                    velocityMagnitude=SPEED, velocityDirection=ANGLE, zVelocity=Maybe(VELOCITY)
                ),
                "cartesianVelocity": sequence(
                    xVelocity=VELOCITY, yVelocity=VELOCITY, zVelocity=Maybe(VELOCITY)
                ),
            }
        )
    ),
    acceleration=Maybe(
        Choice(
            {
                "polarAcceleration": sequence(
                    accelerationMagnitude=sequence(
                        accelerationMagnitudeValue=Integer(0, 161),
                        accelerationConfidence=ACCELERATION_CONFIDENCE,
                    ),
                    accelerationDirection=ANGLE,
                    zAcceleration=Maybe(ACCELERATION),
                ),
                "cartesianAcceleration": sequence(
                    xAcceleration=ACCELERATION,
                    yAcceleration=ACCELERATION,
                    zAcceleration=Maybe(ACCELERATION),
                ),
            }
        )
    ),
    angles=Maybe(sequence(zAngle=ANGLE, yAngle=Maybe(ANGLE), xAngle=Maybe(ANGLE))),
    zAngularVelocity=Maybe(
        sequence(
            value=Integer(-255, 256),  # degrees/s; 256: unavailable
            confidence=Enumerated(
                (
                    *("degSec-01", "degSec-02", "degSec-05", "degSec-10"),
                    *("degSec-20", "degSec-50", "outOfRange", "unavailable"),
                )
            ),
        )
    ),
    lowerTriangularCorrelationMatrices=Maybe(CORRELATIONS),
    objectDimensionZ=Maybe(DIMENSION),
    objectDimensionY=Maybe(DIMENSION),
    objectDimensionX=Maybe(DIMENSION),
    objectAge=Maybe(Integer(0, 2047)),  # ms
    objectPerceptionQuality=Maybe(Integer(0, 15)),
    sensorIdList=Maybe(SENSOR_IDS),
    classification=Maybe(
        SequenceOf(sequence(objectClass=OBJECT_CLASS, confidence=CONFIDENCE_LEVEL), Size(1, 8))
    ),
    mapPosition=Maybe(
        open_sequence(
            mapReference=Maybe(MAP_REFERENCE),
            laneId=Maybe(BYTE),
            connectionId=Maybe(BYTE),
            longitudinalLanePosition=Maybe(
                sequence(
                    longitudinalLanePositionValue=Integer(0, 32767),
                    longitudinalLanePositionConfidence=Integer(0, 1023),
                )
            ),
        )
    ),
)

# containers
CONTAINERS = {
    VEHICLE_CONTAINER: open_sequence(
        orientationAngle=ANGLE,  # clockwise from north
        pitchAngle=Maybe(ANGLE),
        rollAngle=Maybe(ANGLE),
        trailerDataSet=Maybe(
            SequenceOf(
                open_sequence(
                    refPointId=BYTE,
                    hitchPointOffset=LENGTH_8,
                    frontOverhang=Maybe(LENGTH_8),
                    rearOverhang=Maybe(LENGTH_8),
                    trailerWidth=Maybe(VEHICLE_WIDTH),
                    hitchAngle=ANGLE,
                ),
                Size(1, 8, extensible=True),
            )
        ),
    ),
    ROADSIDE_CONTAINER: open_sequence(mapReference=Maybe(MAP_REFERENCE)),
    SENSORS_CONTAINER: SequenceOf(
        open_sequence(
            sensorId=BYTE,
            sensorType=Integer(0, 31),  # 2: LiDAR
            perceptionRegionShape=Maybe(SHAPE),
            perceptionRegionConfidence=Maybe(CONFIDENCE_LEVEL),
            shadowingApplies=Boolean(),
        ),
        Size(1, 128, extensible=True),
    ),
    REGIONS_CONTAINER: SequenceOf(
        open_sequence(
            measurementDeltaTime=DELTA_TIME,
            perceptionRegionConfidence=CONFIDENCE_LEVEL,
            perceptionRegionShape=SHAPE,
            shadowingApplies=Boolean(),
            sensorIdList=Maybe(SENSOR_IDS),
            numberOfPerceivedObjects=Maybe(BYTE),
            perceivedObjectIds=Maybe(SequenceOf(IDENTIFIER, Size(0, 255, extensible=True))),
        ),
        Size(1, 256, extensible=True),
    ),
    OBJECTS_CONTAINER: open_sequence(
        numberOfPerceivedObjects=BYTE,
        perceivedObjects=SequenceOf(PERCEIVED_OBJECT, Size(0, 255, extensible=True)),
    ),
}
RATE = sequence(mantissa=Integer(1, 100), exponent=Integer(-5, 2))  # Hz
CPM = sequence(
    header=sequence(protocolVersion=BYTE, messageId=BYTE, stationId=STATION_ID),
    payload=open_sequence(
        managementContainer=open_sequence(
            referenceTime=TIMESTAMP,
            referencePosition=REFERENCE_POSITION,
            segmentationInfo=Maybe(sequence(totalMsgNo=Integer(1, 8), thisMsgNo=Integer(1, 8))),
            messageRateRange=Maybe(sequence(messageRateMin=RATE, messageRateMax=RATE)),
        ),
        cpmContainers=SequenceOf(
            OpenField("containerId", "containerData", Integer(1, 16), CONTAINERS),
            Size(1, 8, extensible=True),
        ),
    ),
)
