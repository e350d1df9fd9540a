"""The layout of ETSI EN 302 637-2 (V1.4.1): cooperative awareness messages."""

from __future__ import annotations

from harness.channel.messages.data_release1 import (
    ACCELERATION_CONFIDENCE,
    ACCELERATION_VALUE,
    BYTE,
    CAUSE_CODE,
    CLOSED_LANES,
    CURVATURE,
    CURVATURE_MODE,
    DANGEROUS_GOODS,
    DRIVE_DIRECTION,
    EXTERIOR_LIGHTS,
    HEADER,
    HEADING,
    LANE_POSITION,
    LIGHT_BAR,
    PATH_HISTORY,
    PROTECTED_ZONES,
    PT_ACTIVATION,
    REFERENCE_POSITION,
    SPEED,
    SPEED_LIMIT,
    STATION_TYPE,
    STEERING_ANGLE,
    TOLLING_ZONE,
    TRAFFIC_RULE,
    VEHICLE_LENGTH,
    VEHICLE_ROLE,
    VEHICLE_WIDTH,
    YAW_RATE,
)
from harness.channel.messages.uper import (
    BitString,
    Boolean,
    Choice,
    Integer,
    Maybe,
    Sequence,
    Size,
    open_sequence,
    sequence,
)


def make_acceleration(axis: str) -> Sequence:
    """Return an acceleration along an axis, with the standard's names."""
    return Sequence(
        {
            f"{axis}AccelerationValue": ACCELERATION_VALUE,
            f"{axis}AccelerationConfidence": ACCELERATION_CONFIDENCE,
        }
    )


HIGH_FREQUENCY = sequence(
    heading=HEADING,
    speed=SPEED,
    driveDirection=DRIVE_DIRECTION,
    vehicleLength=VEHICLE_LENGTH,
    vehicleWidth=VEHICLE_WIDTH,
    longitudinalAcceleration=make_acceleration("longitudinal"),
    curvature=CURVATURE,
    curvatureCalculationMode=CURVATURE_MODE,
    yawRate=YAW_RATE,
    accelerationControl=Maybe(BitString(Size(7, 7))),
    lanePosition=Maybe(LANE_POSITION),
    steeringWheelAngle=Maybe(STEERING_ANGLE),
    lateralAcceleration=Maybe(make_acceleration("lateral")),
    verticalAcceleration=Maybe(make_acceleration("vertical")),
    performanceClass=Maybe(Integer(0, 7)),
    cenDsrcTollingZone=Maybe(TOLLING_ZONE),
)
LOW_FREQUENCY = sequence(
    vehicleRole=VEHICLE_ROLE, exteriorLights=EXTERIOR_LIGHTS, pathHistory=PATH_HISTORY
)
SPECIAL_VEHICLE = Choice(
    {
        "publicTransportContainer": sequence(
            embarkationStatus=Boolean(), ptActivation=Maybe(PT_ACTIVATION)
        ),
        "specialTransportContainer": sequence(
            specialTransportType=BitString(Size(4, 4)), lightBarSirenInUse=LIGHT_BAR
        ),
        "dangerousGoodsContainer": sequence(dangerousGoodsBasic=DANGEROUS_GOODS),
        "roadWorksContainerBasic": sequence(
            roadworksSubCauseCode=Maybe(BYTE),
            lightBarSirenInUse=LIGHT_BAR,
            closedLanes=Maybe(CLOSED_LANES),
        ),
        "rescueContainer": sequence(lightBarSirenInUse=LIGHT_BAR),
        "emergencyContainer": sequence(
            lightBarSirenInUse=LIGHT_BAR,
            incidentIndication=Maybe(CAUSE_CODE),
            emergencyPriority=Maybe(BitString(Size(2, 2))),
        ),
        "safetyCarContainer": sequence(
            lightBarSirenInUse=LIGHT_BAR,
            incidentIndication=Maybe(CAUSE_CODE),
            trafficRule=Maybe(TRAFFIC_RULE),
            speedLimit=Maybe(SPEED_LIMIT),
        ),
    },
    extensible=True,
)
CAM = sequence(
    header=HEADER,
    cam=sequence(
        generationDeltaTime=Integer(0, 65535),  # ms of TAI, modulo 65536
        camParameters=open_sequence(
            basicContainer=open_sequence(
                stationType=STATION_TYPE, referencePosition=REFERENCE_POSITION
            ),
            highFrequencyContainer=Choice(
                {
                    "basicVehicleContainerHighFrequency": HIGH_FREQUENCY,
                    "rsuContainerHighFrequency": open_sequence(
                        protectedCommunicationZonesRSU=Maybe(PROTECTED_ZONES)
                    ),
                },
                extensible=True,
            ),
            lowFrequencyContainer=Maybe(
                Choice({"basicVehicleContainerLowFrequency": LOW_FREQUENCY}, extensible=True)
            ),
            specialVehicleContainer=Maybe(SPECIAL_VEHICLE),
        ),
    ),
)
