"""What a campaign will take: by its own attempts, by this machine's, or by a rule of thumb."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean

from harness.campaign.planning.paces import SystemPace, read_attempt_cost
from harness.campaign.planning.plan import CampaignPlan
from harness.common.piece_rates import WorkPiece
from harness.common.remaining_time import schedule_pieces
from harness.records.arms import Arm
from harness.records.keys import AttemptKey
from harness.records.ledger import find_finished_tries

SAMPLE = 300
"""Finished attempts that are looked at; more would not make the guess any better."""
STARTING = 1.5
"""Seconds that a process takes before its attempt's own clock starts."""
SECONDS_PER_METRE, BYTES_PER_METRE = 0.12, 900.0
"""Of route, as ideal systems took in Crucible05 with V2Xverse's traffic, on carlite, two cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedAttempts:
    """What attempts are expected to take.

    Attributes:
        pieces: by attempt; of others nothing is known.
        waiting: pieces of attempts that are not named yet.
        in_seconds: whether the expectations are seconds that this machine has measured.
    """

    pieces: Mapping[AttemptKey, WorkPiece] = field(default_factory=dict)
    waiting: tuple[WorkPiece, ...] = ()
    in_seconds: bool = False

    def select_attempts(self, keys: Iterable[AttemptKey]) -> ExpectedAttempts:
        """Return what some attempts are expected to take, in their order."""
        return replace(self, pieces={key: self.pieces[key] for key in keys if key in self.pieces})


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignEstimate:
    """What is left to do, and what it will take."""

    done: int
    left: int
    seconds: float  # of wall-clock, for all that is left and has a known time
    bytes: float  # of the same
    samples: int  # finished attempts of this campaign that were measured
    remembered: int = 0  # attempts that this machine drove before
    unknown: tuple[str, ...] = ()  # systems by a rule of thumb
    guests: tuple[str, ...] = ()  # systems of which nothing is known before their first drive
    left_of_guests: int = 0  # attempts of theirs
    expected: ExpectedAttempts = field(default_factory=ExpectedAttempts, repr=False)  # of the left


def estimate_campaign(
    plan: CampaignPlan, folder: Path, paces: Mapping[str, SystemPace] | None = None
) -> CampaignEstimate:
    """Return what is left of a plan, and what it will take; paces are by system.

    Args:
        plan: of the campaign.
        folder: of the campaign; it need not exist.
        paces: seconds and bytes for each metre, from other campaigns.

    Returns:
        Wall-clock seconds and bytes of what is left.
    """
    paces = paces or {}
    there = find_finished_tries(folder)
    finished = {key: there[key] for key in plan.attempts if key in there}
    left = [key for key in plan.attempts if key not in finished]
    metres = {one.route.name: one.driven_metres for one in plan.assignments}
    # attempts of this campaign are the best measure, else what is remembered of systems
    samples = measure_finished_attempts(finished)
    guests = list_unmeasured_guests(plan, left, {*paces, *(key.arm.system for key in samples)})
    systems = [] if samples else list(dict.fromkeys(key.arm.system for key in left))
    if samples:
        costs = estimate_by_arm(left, samples)
    else:
        costs = [estimate_by_metre(metres[key.route], paces.get(key.arm.system)) for key in left]
    taken = [STARTING + seconds for seconds, _ in costs]
    known = [number for number, key in enumerate(left) if key.arm.system not in guests]
    known_seconds = [taken[number] for number in known]
    # a worker and its simulator take turns and keep one core busy
    at_a_time = max(min(plan.at_a_time, len(left), plan.cores or plan.at_a_time), 1)
    unknown = tuple(system for system in systems if system not in {*paces, *guests})
    return CampaignEstimate(
        done=len(finished),
        left=len(left),
        # the last attempt to end decides, and with few attempts not every worker has one then
        seconds=plan.opening + schedule_pieces([0.0] * at_a_time, known_seconds) if known else 0.0,
        bytes=sum(costs[number][1] for number in known),
        samples=len(samples),
        remembered=sum(paces[system].attempts for system in systems if system in paces),
        unknown=unknown,
        guests=guests,
        left_of_guests=len(left) - len(known),
        expected=ExpectedAttempts(
            pieces={
                key: WorkPiece(kind=key.arm, group=key.route, expected=seconds)
                for key, seconds in zip(left, taken, strict=True)
            },
            in_seconds=not unknown and not guests,
        ),
    )


def list_unmeasured_guests(
    plan: CampaignPlan, left: Sequence[AttemptKey], measured: Collection[str]
) -> tuple[str, ...]:
    """Return the users' own programs that are left to drive and were never measured.

    Args:
        plan: of the campaign.
        left: attempts that are left.
        measured: systems with finished attempts, here or in other campaigns of this machine.
    """
    systems = dict.fromkeys(key.arm.system for key in left)
    return tuple(name for name in systems if name in plan.guests and name not in measured)


def estimate_by_metre(metres: float, pace: SystemPace | None) -> tuple[float, float]:
    """Return seconds and bytes of a route at a pace; by a rule of thumb where none is known."""
    if pace is None:
        return SECONDS_PER_METRE * metres, BYTES_PER_METRE * metres
    return pace.seconds / pace.metres * metres, pace.bytes / pace.metres * metres


def measure_finished_attempts(
    finished: Mapping[AttemptKey, Path],
) -> dict[AttemptKey, tuple[float, float]]:
    """Return seconds and bytes of some finished attempts, evenly spread."""
    keys = list(finished)
    samples = {}
    for key in keys[:: max(len(keys) // SAMPLE, 1)]:
        taken = read_attempt_cost(finished[key])
        if taken is not None:
            samples[key] = taken
    return samples


def estimate_by_arm(
    left: Sequence[AttemptKey], samples: Mapping[AttemptKey, tuple[float, float]]
) -> list[tuple[float, float]]:
    """Return seconds and bytes of each attempt that is left: the means of its arm.

    Where nothing of it has been driven yet, as the mean of all.
    """
    groups: dict[Arm, list[tuple[float, float]]] = {}
    for key, sample in samples.items():
        groups.setdefault(key.arm, []).append(sample)
    overall = compute_mean_cost(list(samples.values()))
    means = {arm: compute_mean_cost(group) for arm, group in groups.items()}
    return [means.get(key.arm, overall) for key in left]


def compute_mean_cost(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the means of both."""
    return fmean(pair[0] for pair in pairs), fmean(pair[1] for pair in pairs)
