"""Types of ETSI TS 102 894-2, release 1 (V1.3.1): what CAM and DENM have in common.

Names are the standard's, so that other decoders' values can be compared. Comments have units.
"""

from __future__ import annotations

from harness.channel.messages.uper import (
    BitString,
    Boolean,
    Enumerated,
    Integer,
    Maybe,
    OctetString,
    SequenceOf,
    Size,
    Text,
    Utf8Text,
    open_sequence,
    sequence,
)

ASCII = "".join(map(chr, range(128)))
DIGITS = " 0123456789"

# header and place
BYTE = Integer(0, 255)
STATION_ID = Integer(0, 2**32 - 1)
HEADER = sequence(protocolVersion=BYTE, messageID=BYTE, stationID=STATION_ID)
STATION_TYPE = BYTE
TIMESTAMP = Integer(0, 2**42 - 1)  # ms of TAI since 2004
LATITUDE = Integer(-900000000, 900000001)  # 1e-7 degrees; the highest: unavailable
LONGITUDE = Integer(-1800000000, 1800000001)  # 1e-7 degrees; the highest: unavailable
HEADING_VALUE = Integer(0, 3601)  # 0.1 degrees clockwise from north; 3601: unavailable
SEMI_AXIS = Integer(0, 4095)  # cm; 4094: more; 4095: unavailable
ALTITUDE_CONFIDENCE = Enumerated(
    (
        *("alt-000-01", "alt-000-02", "alt-000-05", "alt-000-10", "alt-000-20", "alt-000-50"),
        *("alt-001-00", "alt-002-00", "alt-005-00", "alt-010-00", "alt-020-00", "alt-050-00"),
        *("alt-100-00", "alt-200-00", "outOfRange", "unavailable"),
    )
)
REFERENCE_POSITION = sequence(
    latitude=LATITUDE,
    longitude=LONGITUDE,
    positionConfidenceEllipse=sequence(
        semiMajorConfidence=SEMI_AXIS,
        semiMinorConfidence=SEMI_AXIS,
        semiMajorOrientation=HEADING_VALUE,
    ),
    altitude=sequence(
        altitudeValue=Integer(-100000, 800001),  # cm; the highest: unavailable
        altitudeConfidence=ALTITUDE_CONFIDENCE,
    ),
)
DELTA_POSITION = sequence(
    deltaLatitude=Integer(-131071, 131072),  # 1e-7 degrees
    deltaLongitude=Integer(-131071, 131072),
    deltaAltitude=Integer(-12700, 12800),  # cm
)
PATH_DELTA_TIME = Integer(1, 65535, extensible=True)  # 10 ms into the past
PATH_HISTORY = SequenceOf(
    sequence(pathPosition=DELTA_POSITION, pathDeltaTime=Maybe(PATH_DELTA_TIME)), Size(0, 40)
)

# motion and size of a vehicle
CONFIDENCE_127 = Integer(1, 127)  # 126: out of range; 127: unavailable
SPEED = sequence(
    speedValue=Integer(0, 16383),  # cm/s; 16383: unavailable
    speedConfidence=CONFIDENCE_127,  # cm/s
)
HEADING = sequence(headingValue=HEADING_VALUE, headingConfidence=CONFIDENCE_127)  # 0.1 degrees
ACCELERATION_VALUE = Integer(-160, 161)  # 0.1 m/s²; 161: unavailable
ACCELERATION_CONFIDENCE = Integer(0, 102)  # 0.1 m/s²; 102: unavailable
DRIVE_DIRECTION = Enumerated(("forward", "backward", "unavailable"))
VEHICLE_LENGTH = sequence(
    vehicleLengthValue=Integer(1, 1023),  # 0.1 m; 1023: unavailable
    vehicleLengthConfidenceIndication=Enumerated(
        (
            "noTrailerPresent",
            "trailerPresentWithKnownLength",
            "trailerPresentWithUnknownLength",
            "trailerPresenceIsUnknown",
            "unavailable",
        )
    ),
)
VEHICLE_WIDTH = Integer(1, 62)  # 0.1 m; 62: unavailable
CURVATURE = sequence(
    curvatureValue=Integer(-1023, 1023),  # 1/10 km; to the left; 1023: unavailable
    curvatureConfidence=Enumerated(
        (
            *("onePerMeter-0-00002", "onePerMeter-0-0001", "onePerMeter-0-0005"),
            *("onePerMeter-0-002", "onePerMeter-0-01", "onePerMeter-0-1"),
            *("outOfRange", "unavailable"),
        )
    ),
)
CURVATURE_MODE = Enumerated(("yawRateUsed", "yawRateNotUsed", "unavailable"), extensible=True)
YAW_RATE = sequence(
    yawRateValue=Integer(-32766, 32767),  # 0.01 degrees/s to the left; 32767: unavailable
    yawRateConfidence=Enumerated(
        (
            *("degSec-000-01", "degSec-000-05", "degSec-000-10", "degSec-001-00"),
            *("degSec-005-00", "degSec-010-00", "degSec-100-00", "outOfRange", "unavailable"),
        )
    ),
)
STEERING_ANGLE = sequence(
    steeringWheelAngleValue=Integer(-511, 512),  # 1.5 degrees to the left; 512: unavailable
    steeringWheelAngleConfidence=CONFIDENCE_127,
)
LANE_POSITION = Integer(-1, 14)
SPEED_LIMIT = Integer(1, 255)  # km/h
VEHICLE_ROLE = Enumerated(
    (
        *("default", "publicTransport", "specialTransport", "dangerousGoods", "roadWork"),
        *("rescue", "emergency", "safetyCar", "agriculture", "commercial", "military"),
        *("roadOperator", "taxi", "reserved1", "reserved2", "reserved3"),
    )
)
EXTERIOR_LIGHTS = BitString(Size(8, 8))
LIGHT_BAR = BitString(Size(2, 2))

# tolling zones
ZONE_ID = Integer(0, 134217727)
TOLLING_ZONE = open_sequence(
    protectedZoneLatitude=LATITUDE,
    protectedZoneLongitude=LONGITUDE,
    cenDsrcTollingZoneID=Maybe(ZONE_ID),
)
PROTECTED_ZONES = SequenceOf(
    open_sequence(
        protectedZoneType=Enumerated(
            ("permanentCenDsrcTolling",), extensible=True, added=("temporaryCenDsrcTolling",)
        ),
        expiryTime=Maybe(TIMESTAMP),
        protectedZoneLatitude=LATITUDE,
        protectedZoneLongitude=LONGITUDE,
        protectedZoneRadius=Maybe(Integer(1, 255, extensible=True)),  # m
        protectedZoneID=Maybe(ZONE_ID),
    ),
    Size(1, 16),
)

# events, lanes, goods
CAUSE_CODE = open_sequence(causeCode=BYTE, subCauseCode=BYTE)
HARD_SHOULDER = Enumerated(("availableForStopping", "closed", "availableForDriving"))
CLOSED_LANES = open_sequence(
    innerhardShoulderStatus=Maybe(HARD_SHOULDER),
    outerhardShoulderStatus=Maybe(HARD_SHOULDER),
    drivingLaneStatus=Maybe(BitString(Size(1, 13))),
)
TRAFFIC_RULE = Enumerated(
    ("noPassing", "noPassingForTrucks", "passToRight", "passToLeft"), extensible=True
)
DANGEROUS_GOODS = Enumerated(
    (
        *(f"explosives{number}" for number in range(1, 7)),
        *("flammableGases", "nonFlammableGases", "toxicGases", "flammableLiquids"),
        *("flammableSolids", "substancesLiableToSpontaneousCombustion"),
        "substancesEmittingFlammableGasesUponContactWithWater",
        *("oxidizingSubstances", "organicPeroxides", "toxicSubstances", "infectiousSubstances"),
        *("radioactiveMaterial", "corrosiveSubstances", "miscellaneousDangerousSubstances"),
    )
)
DANGEROUS_GOODS_EXTENDED = open_sequence(
    dangerousGoodsType=DANGEROUS_GOODS,
    unNumber=Integer(0, 9999),
    elevatedTemperature=Boolean(),
    tunnelsRestricted=Boolean(),
    limitedQuantity=Boolean(),
    emergencyActionCode=Maybe(Text(ASCII, Size(1, 24))),
    phoneNumber=Maybe(Text(DIGITS, Size(1, 16))),
    companyName=Maybe(Utf8Text()),
)
VEHICLE_IDENTIFICATION = open_sequence(
    wMInumber=Maybe(Text(ASCII, Size(1, 3))), vDS=Maybe(Text(ASCII, Size(6, 6)))
)
PT_ACTIVATION = sequence(ptActivationType=BYTE, ptActivationData=OctetString(Size(1, 20)))
