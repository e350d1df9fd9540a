"""Errors of the estimate along recorded campaigns, on a made-up clock: the same on every machine.

Errors at a quarter, half and three quarters, as `make estimates` has them: under constant load, and
with the seconds that attempts took while the load of the machine changed.
"""

from __future__ import annotations

from tests.replayed_orders import ALIKE, read_recorded_campaigns, replay_campaign

LANES = (1, 2, 6)


def run() -> list[tuple[str, str]]:
    """Return the errors of every campaign and number of workers."""
    rows, good = [], {True: 0, False: 0}
    for name, attempts in read_recorded_campaigns().items():
        for lanes in LANES:
            texts = []
            for steady in (True, False):
                errors = replay_campaign(attempts, lanes, steady=steady)
                good[steady] += sum(abs(error) <= ALIKE for error in errors)
                texts.append(" ".join(f"{100 * error:+4.0f}" for error in errors) + " %")
            title = f"{name}, {len(attempts)} attempts, {lanes} at a time"
            rows.append((title, f"constant load {texts[0]}; as recorded {texts[1]}"))
    readings = 3 * len(rows)
    rows.append(
        (
            f"within {100 * ALIKE:.0f} %",
            f"constant load {good[True]} of {readings}; as recorded {good[False]} of {readings}",
        )
    )
    return rows
