"""Reception over distance next to that of another simulator."""

from __future__ import annotations

import numpy as np
import pytest

from tools.radio.__main__ import measure_ratio, run_radio_command
from tools.radio.highway import simulate_highway
from tools.radio.reference import DISTANCES, WILAB_RECEPTION


@pytest.mark.parametrize(
    ("radio", "density"),
    [
        ("nr_v2x", 50),
        *(
            pytest.param(*key, marks=pytest.mark.thorough)
            for key in (("lte_v2x", 50), ("itsg5", 50))
        ),
    ],
)
def test_reception_is_near_that_of_wilab(radio: str, density: int) -> None:
    """100 vehicles are few: the mean over distances is held to 4 points, one place to 8."""
    here = measure_ratio([simulate_highway(radio, density, seconds=2.0, seed=s) for s in (1, 2)])
    apart = 100 * (np.array(here) - WILAB_RECEPTION[radio, density])
    assert len(here) == len(DISTANCES)
    assert np.abs(apart).mean() < 4
    assert np.abs(apart).max() < 8


def test_gaps_are_multiples_of_the_period_and_ages_are_older() -> None:
    tally = simulate_highway("nr_v2x", 20, seconds=2.0, seed=1)
    gaps, ages = np.concatenate(tally.gaps), np.concatenate(tally.ages)
    # a resource may move within the window of 100 ms
    assert gaps.min() > 0
    assert np.median(gaps) == pytest.approx(0.1)
    assert np.all(ages > gaps)
    assert ages.mean() - gaps.mean() == pytest.approx(0.05, abs=0.02)
    assert np.array_equal(
        tally.received, simulate_highway("nr_v2x", 20, seconds=2.0, seed=1).received
    )


def test_the_command_prints_every_distance(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_radio_command(["--only", "nr_v2x", "--seconds", "0.3"]) == 0
    printed = capsys.readouterr().out
    assert "nr_v2x, 50 vehicles/km" in printed
    assert printed.count("\n 450  ") == 2
    assert "more than 5 points apart: " in printed
