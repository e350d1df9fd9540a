"""Whether a disturbance caused a violation, as far as re-runs can show.

One twin without the disturbance is not enough: a violation that comes and goes with every sample
proves little. So the disturbance is sampled again several times, and windows are searched outside
of which it need not happen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from harness.campaign.planning.limits import refuse_unnameable
from harness.campaign.twins.twins import AttemptTwin, CampaignTwins
from harness.common.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.twins import TwinChange, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptAttribution:
    """What became of an attempt's twins: true where the same kind of violation happened."""

    of: AttemptKey
    kind: str  # of violation
    again: bool
    without: dict[str, bool]  # each disturbance, and all of them under the name `all`
    resampled: tuple[bool, ...]
    windows: tuple[Window, ...] | None  # ticks; none where it happens without, or the scene alone
    # is changed


ALL = "all"


def compute_attribution(
    twins: CampaignTwins, of: AttemptKey, *, kind: str, cells: tuple[Window, ...], placebos: int
) -> AttemptAttribution:
    """Drive an attempt's twins; `cells` are the windows up to its violation.

    Args:
        twins: of the campaign.
        of: an attempt that ended in a violation.
        kind: of the violation.
        cells: windows in ticks.
        placebos: how often it is sampled again.
    """

    def happens(change: TwinChange) -> bool:
        violation = twins.read_violation(AttemptTwin(of, change))
        return violation is not None and violation["kind"] == kind

    def drive(changes: Sequence[TwinChange]) -> list[bool]:
        twins.drive_twins([AttemptTwin(of, change) for change in changes])
        return [happens(change) for change in changes]

    # without all disturbances, without each, and other samples: one queue of drives
    names = twins.list_disturbance_names(of.arm.condition)
    absences = {ALL: TwinChange(without=tuple(names))}
    if len(names) > 1:
        absences |= {name: TwinChange(without=(name,)) for name in names}
    placebo_changes = [TwinChange(sample=number) for number in range(1, placebos + 1)]
    ended = drive([TwinChange(), *absences.values(), *placebo_changes])
    repeated, absent, resampled = ended[0], ended[1 : 1 + len(absences)], ended[1 + len(absences) :]
    without = dict(zip(absences, absent, strict=True))
    # only where the violation repeats and needs the disturbances
    windows = None
    if repeated and not without[ALL] and not twins.only_of_the_scene(of.arm.condition):
        windows = minimize_windows(cells, lambda kept: drive([TwinChange(windows=kept)])[0])
    return AttemptAttribution(
        of=of,
        kind=kind,
        again=repeated,
        without=without,
        resampled=tuple(resampled),
        windows=windows,
    )


def split_into_windows(end: int, every: int, cells: int) -> tuple[Window, ...]:
    """Cut the ticks up to a violation into windows of whole planning steps, as equal as may be.

    Args:
        end: tick of the violation.
        every: ticks of a planning step.
        cells: windows, if there are steps enough.

    Returns:
        Ticks; the end of a window is not in it.
    """
    steps = end // every + 1
    edges = [every * round(steps * cell / cells) for cell in range(cells + 1)]
    return tuple((first, last) for first, last in pairwise(edges) if first < last)


def refuse_too_fine(of: AttemptKey, cells: tuple[Window, ...]) -> None:
    """Refuse so many windows that no file could be called after a twin that has most of them."""
    for left_out in cells:
        kept = tuple(cell for cell in cells if cell != left_out)
        try:
            refuse_unnameable([AttemptTwin(of, TwinChange(windows=kept)).key])
        except UserError:
            raise UserError(
                f"{of}: {len(cells)} windows are too many for a file's name; choose fewer --cells"
            ) from None


def minimize_windows(
    windows: tuple[Window, ...], happens: Callable[[tuple[Window, ...]], bool]
) -> tuple[Window, ...]:
    """Leave out windows, one at a time, until without any one of the rest it does not happen.

    Such a set is 1-minimal; others may be too, and a smaller one is not ruled out: that less
    disturbance does less is not assumed.
    """
    kept, tried_in_vain, at = windows, 0, 0
    while kept and tried_in_vain < len(kept):
        at %= len(kept)
        rest = kept[:at] + kept[at + 1 :]
        if rest and happens(rest):
            kept, tried_in_vain = rest, 0
        else:
            at, tried_in_vain = at + 1, tried_in_vain + 1
    return kept
