"""A campaign's settings as types: groups by name, and parts that name a class to build."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeAlias, TypedDict, TypeVar

from harness.channel.attacks.attack import Attack
from harness.channel.channel import Channel
from harness.channel.compensation.compensation import Compensation
from harness.channel.computing.computing_time import ComputingTime
from harness.channel.defences.defence import Defence
from harness.channel.disturbance import Disturbance
from harness.channel.links.link import Link
from harness.channel.messages.message_format import MessageFormat
from harness.evaluation.driving import DrivingRules
from harness.evaluation.frame_evaluation import EvaluationSettings
from harness.evaluation.interventions.intervention import Intervention
from harness.evaluation.metrics.metric import Metric
from harness.evaluation.scoring import Coefficients
from harness.evaluation.windows import WindowRules
from harness.types.drivers import RouteDriver
from harness.types.systems import PrivilegedSystem, System
from harness.world.brakes import TyreGrip
from harness.world.changes.change import SceneChange
from harness.world.partners import Cooperation, RoadsidePlacement
from harness.world.rig import Rig
from harness.world.routes.sources import RouteSource
from harness.world.simulators import Simulator
from harness.world.traffic import Traffic

T = TypeVar("T")


class PartSettings(dict[str, Any], Generic[T]):
    """Settings that name a class by `_target_`; `build` makes the object of them.

    Only type checkers meet this class: settings are plain dictionaries, as files hold them.
    """


ProgressMode: TypeAlias = Literal["live", "plain", "json", "quiet"]


class StudySettings(TypedDict):
    """The study that a campaign belongs to."""

    name: str  # part of the campaign folder's name


class RouteSettings(TypedDict):
    """Where the ego drives."""

    file: str | None  # routes, as XML of Leaderboard 1.0
    hazards: str | None  # hazards, as JSON
    only: list[str | int] | None  # ids; null: all
    source: PartSettings[RouteSource]  # what reads routes and hazards
    clean_under: str | None  # a finished campaign: only the routes that it drove without violation
    repeats: bool  # true: also drive routes along the same way as an earlier route
    skip_invalid: bool  # leave out routes that cannot be read or laid
    checkout: str | None  # V2Xverse's folder


class RecordSettings(TypedDict):
    """What is kept besides the tables."""

    points: bool  # keep every sweep: 20 MB for a minute of the ego and one partner
    pictures: list[str] | None  # cameras whose pictures are kept; null or absent: none


class FleetSettings(TypedDict):
    """Which system each partner uses: by kind, or by agent; the ego's own where nothing is said."""

    roadside: str | None  # system of roadside units
    vehicle: str | None  # system of connected vehicles
    agents: dict[str, dict[str, str]] | None  # modality by route and agent, as HEAL's files have it
    modalities: dict[str, str] | None  # system by modality; own: the ego's


class PartnerSettings(TypedDict):
    """The systems of partners: fleets, of which each is a value of a factor of arms."""

    fleets: dict[str, FleetSettings]  # by name
    systems: dict[str, PartSettings[System | PrivilegedSystem]]  # those that fleets name


class CampaignSettings(TypedDict):
    """A campaign's settings, resolved and checked; units stand behind the fields.

    `intervention` is absent where none is named, `driver` where only the default driver is, and
    `link` where only the ideal link is, `message_format` where only the native one is, `brakes`
    where only the simulator's are, `attack`, `defence`, `compensate` and `compute` where only
    `none` is, `partners` where all use the ego's system, `repeatable` where it is false, as in
    folders from before there were any.
    """

    simulator: PartSettings[Simulator]  # carlite, or CARLA running or launched
    cooperation: dict[str, PartSettings[Cooperation]]  # partners; one or several
    reference: PartSettings[
        RoadsidePlacement
    ]  # the unit that defines ground truth with the ego, in every arm
    traffic: PartSettings[Traffic]  # background traffic
    rig: PartSettings[Rig]  # LiDARs of the ego, of roadside units and of connected vehicles
    driving: PartSettings[DrivingRules]  # thresholds of violations and of the drive's end
    scoring: PartSettings[Coefficients]  # of the driving score, by infraction
    patterns: PartSettings[EvaluationSettings]  # how boxes are matched and which count
    windows: PartSettings[WindowRules]  # the ends of drives over which patterns are means
    channel: PartSettings[Channel]  # between partners and ego
    study: StudySettings  # its name
    routes: RouteSettings  # where the ego drives
    record: RecordSettings  # what is kept in addition to the tables
    protocol: str | None  # protocol file whose digest made the test town; null: not in a test town
    out: str | None  # campaign folder; null: runs/<study>-<digest of the settings>
    seeds: list[int]  # each route is driven with each
    repeatable: bool | None  # true: networks give equal bytes on all x86-64 processors with AVX2
    dry_run: bool  # print the plan, run nothing
    retry_failed: bool  # true: allow failed attempts the same number of tries again
    attempts_per_route: int  # tries before an attempt counts as failed
    attempt_timeout: float  # s of wall-clock for a try
    progress: ProgressMode  # live, plain, json or quiet
    live: bool | str | None  # true: show attempts in the Rerun viewer as they drive; or its address
    lights: Literal["working", "green"]  # working, or green: frozen so, as in V2Xverse
    tick: float  # s
    perceive_every: int  # ticks between perception and planning steps
    system: dict[str, PartSettings[System | PrivilegedSystem]]  # systems under test; one or several
    interference: dict[
        str, list[PartSettings[Disturbance | SceneChange]]
    ]  # conditions; one or several
    intervention: dict[str, PartSettings[Intervention]]  # changes of errors; none, one or several
    driver: dict[str, PartSettings[RouteDriver] | None]  # who drives by the boxes; one or several
    link: dict[str, PartSettings[Link] | None]  # radio between partners and ego; one or several
    message_format: dict[
        str, PartSettings[MessageFormat] | None
    ]  # how messages are written; one or several
    attack: dict[str, PartSettings[Attack] | None]  # how partners lie; one or several
    defence: dict[str, PartSettings[Defence] | None]  # what judges messages; one or several
    compensate: dict[
        str, PartSettings[Compensation] | None
    ]  # what makes up for the age of messages; one or several
    compute: dict[
        str, PartSettings[ComputingTime] | None
    ]  # how long agents compute; one or several
    brakes: dict[str, PartSettings[TyreGrip] | None]  # of the ego; one or several
    partners: PartnerSettings  # systems of partners, where they are not the ego's
    metrics: dict[str, PartSettings[Metric]]  # further numbers; none, one or several
    export: dict[str, PartSettings[Any]]  # other tools that get the results; none, one or several
    executor: PartSettings[Any]  # where attempts run


class WithInputs(CampaignSettings, total=False):
    """Settings with what a campaign adds to them: the digests of the files that it reads."""

    inputs: dict[str, Any]
