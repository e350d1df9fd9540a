"""Grids of sizes: what can be asked for, and what is refused before anything is driven."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from crucible.subcommands import dispatch_subcommand
from harness.campaign.settings.conditions import build_condition_part
from harness.campaign.settings.config import build_part
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.sweeps import SIZES
from harness.campaign.twins.resized import PLACEBO_METRES, PLACEBOS, SizedTwin, build_size_grid
from harness.channel.channel import Channel
from harness.channel.effects import LEAST_METRES
from harness.common.errors import UserError
from harness.records.twins import TWINS
from tests.campaign.many import finish
from tests.campaign.tiny import composed, write_route
from tests.keys import key_of


@cache
def settings_of(every: int = 4) -> CampaignSettings:
    """Return the usual settings, with some ticks between planning steps."""
    return composed(f"perceive_every={every}")


@pytest.mark.thorough
@pytest.mark.parametrize(("every", "period"), [(4, 0.2), (1, 0.05), (2, 0.1)])
def test_ages_are_multiples_of_a_planning_step(every: int, period: float) -> None:
    grid, of_perception = (
        build_size_grid(name, settings_of(every), "0,0.4,2", None)
        for name in ("latency", "own_latency")
    )
    assert of_perception == grid
    assert grid.finest == pytest.approx(period)
    ages = [grid.get_size(number) for number in range(grid.coarse[-1] + 1)]
    assert ages == [round(number * period, 12) for number in range(round(2 / period) + 1)]
    assert [grid.get_size(number) for number in grid.coarse] == [0.0, 0.4, 2.0]
    coarser = build_size_grid("latency", settings_of(every), "0,0.8", 2 * period)
    assert coarser.finest == pytest.approx(2 * period)


@pytest.mark.parametrize(
    ("name", "given", "finest", "complaint"),
    [
        ("latency", None, 0.1, "--finest 0.1: ages are delivered in planning steps of 0.2 s"),
        ("own_latency", None, 0.1, "--finest 0.1: ages are delivered in planning steps of 0.2 s"),
        ("latency", "0,0.3", None, "0.3 is no multiple of the finest step 0.2"),
        ("latency", "0.2,0.4", None, "0 and larger sizes are needed"),
        ("latency", "0", None, "0 and larger sizes are needed"),
        ("latency", "0,0.4,0.4", None, "0 and larger sizes are needed"),
        ("latency", "0,-1", None, "-1 must be ≥ 0"),
        ("latency", "0,inf", None, "inf is no multiple"),
        ("latency", "0,nan", None, "nan"),
        ("latency", "0,a", None, "not numbers with commas between"),
        ("latency", None, -0.2, "--finest -0.2: must be > 0"),
        ("loss", "0,2", 0.5, "2 must be from 0 to 1"),
        ("ghosts", "0,1.5", 0.5, "1.5 is not a whole number"),
        ("removed", "0,1", None, "it has no usual step; name it with --finest"),
        ("removed", None, 0.5, "it has no usual sizes; name them with --sizes"),
        ("fog", "0,100", 1.0, "its size 0 is not `none`"),
        ("latencies", None, None, "unknown disturbance latencies; did you mean latency?"),
    ],
)
def test_bad_grids_are_one_line(
    name: str, given: str | None, finest: float | None, complaint: str
) -> None:
    with pytest.raises(UserError) as raised:
        build_size_grid(name, settings_of(), given, finest)
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", [name for name in SIZES if SIZES[name].least == 0])
@pytest.mark.parametrize("placebo", ["", *PLACEBOS])
def test_all_sizes_and_placebos_make_a_channel(name: str, placebo: str) -> None:
    size = min(1.0, SIZES[name].most or 1.0)
    key = key_of("late", "none", "1", 1)
    twin = SizedTwin(of=key, name=name, size=size, placebo=placebo, sample=2)
    made = [build_condition_part(part, "interference.x") for part in twin.make_parts()]
    assert len(made) == 1 + bool(placebo)
    disturbances = [one for one in made if hasattr(one, "delay")]
    channel: Channel = build_part(settings_of()["channel"], "channel", disturbances=disturbances)
    assert len({one.name for one in channel.disturbances}) == len(disturbances)


def test_a_placebo_counts_as_a_displacement_after_rounding() -> None:
    assert PLACEBO_METRES > LEAST_METRES + 1e-6


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a campaign with results that were not driven."""
    routes = write_route(tmp_path_factory.mktemp("critical"), "hop")
    settings = composed(
        "routes.only=null", f"routes.file={routes / 'routes.xml'}", "routes.hazards=null",
        "system=[ideal_late,ideal_single]", "interference=none", "seeds=[1]",
    )  # fmt: skip
    finish(routes / "out", settings)
    return routes / "out"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--of", "smoke"), "unknown disturbance smoke"),
        (("--of", "latency", "--finest", "0.1"), "planning steps"),
        (("--of", "latency", "--sizes", "0,2.4"), "channel.maximum_age is 2 s"),
        (("--of", "latency", "--placebos", "0"), "--placebos 0: must be ≥ 1"),
        (("--of", "latency", "--workers", "0"), "--workers 0: must be ≥ 1"),
        (("--of", "latency", "--placebo", "sugar"), "unknown placebo sugar"),
        (("--of", "latency", "--placebo", "noise"), "the rig's LiDARs have no noise"),
        (("--of", "latency", "--system", "late"), "--system late:"),
        (("--of", "latency", "--route", "9"), "--route 9:"),
        (("--of", "latency", "--system", "ideal_single"), "latency: receives no messages"),
        (("--of", "latency", "--format", "pdf"), "unknown format pdf"),
        (("--of", "latency", "--recorded"), "latency.json: not there"),
        (("--of", "rain", "--sizes", "0,10", "--finest", "5"), "sensitivity"),
    ],
)
def test_what_cannot_be_is_one_line_and_nothing_is_written(
    made_up: Path, words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch_subcommand(["critical", str(made_up), *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("critical: ")
    assert complaint in line
    assert not any((made_up / name).exists() for name in (TWINS, "critical", "report"))
