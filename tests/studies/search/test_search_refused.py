"""Bad configurations of searches are one line, with exit code 2, before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from crucible.subcommands import dispatch_subcommand as main
from harness.campaign.settings import config
from harness.common.errors import UserError
from studies.rates.rate import main as rate
from studies.search.command_options import order_settings_first
from studies.search.configuration import compose_search_config, iterate_trial_values, plan_search
from studies.search.template import read_template
from studies.space import SpaceParameter
from tests.studies.search.searched import write_configuration

pytestmark = pytest.mark.thorough


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a configuration whose system the tests' package has."""
    monkeypatch.setattr(config, "THEIRS", ("tests.",))
    write_configuration(tmp_path)
    return tmp_path


BAD = [
    (["search.sampler=tpi"], "search.sampler: unknown sampler tpi; did you mean tpe?"),
    (["search.budget=5"], "budget = 5: must be a multiple of batch = 2"),
    (["search.batch=0"], "search.batch = 0: must be a whole number ≥ 1"),
    (["search.seed=-1"], "search.seed = -1: must be a whole number ≥ 0"),
    (["search.seeds=some"], "search.seeds = some: must be same or fresh"),
    (["search.objectives=[gapp]"], "search.objectives: unknown name gapp; did you mean gap?"),
    (["search.objectives=[]"], "search.objectives = []: must be a list of one or more of gap, "),
    (["search.objectives=[gap,gap]"], "names one twice"),
    (["+search.behaviour.age={low: 0, high: 1, cells: 2}"], "unknown measure age"),
    (["search.behaviour.message_age.high=-1"], "must have low < high"),
    (["search.behaviour.message_age.cells=0.5"], "message_age.cells = 0.5: must be a whole"),
    (["+search.badget=4"], "search: unknown key badget; did you mean budget?"),
    (["search.space.delay.low=2"], "search.space.delay: low = 2 and high = 1.2: must have low <"),
    (["search.space.delay.low=nan"], "search.space.delay.low = nan: must be a finite number"),
    (["search.space.delay.low=-0.5"], "latency.seconds = -0.5 s: must be ≥ 0"),
    (["search.space.delay.high=2.5"], "channel.maximum_age is 2 s"),
    (["search.space.delay.high=900"], "if it is meant in milliseconds"),
    (["+search.space.delay.kind=log"], "search.space.delay.low = 0: must be > 0 where kind is log"),
    (["+search.space.delay.kind=whole"], "must be whole numbers"),
    (["+search.space.delay.kind=real"], "search.space.delay.kind: unknown kind real"),
    (["+search.space.delay.kind=choice"], "choices = None: must be two or more different words"),
    (["+search.space.unused={low: 0, high: 1}"], "search.space.unused: nothing in condition or"),
    (["+search.space.route={low: 0, high: 1}"], "search.space.route: is made of the campaign's"),
    (["search.condition=late"], "search.condition: must be a list of parts"),
    (["search.condition=[{seconds: 1}]"], "search.condition[0]: needs a _target_"),
    (["search.condition.0.seconds='${dealy}'"], "unknown parameter dealy; did you mean delay?"),
    (["search.condition.0.seconds='1${delay}'"], "a reference stands alone"),
    (["+search.condition.0.secnds=1"], "interference.search.0: unknown key secnds"),
    (["search.condition.0._target_=os.system"], "names 'os.system'; only harness.channel.* and"),
    (
        ["+search.hazards=[{kind: cut_on, station: 1}]"],
        "unknown hazard cut_on; did you mean cut_in",
    ),
    (["+search.hazards=[{kind: cut_in}]"], "search.hazards[0]: changes nothing"),
    (
        ["+search.hazards=[{kind: cut_in, parameters: {sped: 4}}]"],
        "unknown parameter sped; did you mean speed?",
    ),
    (
        ["+search.hazards=[{kind: cut_in, parameters: {speed: 4}}]"],
        "search.hazards: route step has no hazard cut_in (has: none)",
    ),
    (["system=[ideal_late,ideal_single]"], "system: ideal_late, ideal_single; a search has one"),
    (["seeds=[1,2]"], "seeds is [1, 2]; a search has one"),
    (["search.spase.delay.low=1"], "search.spase.delay.low: not in the configuration; +search."),
]


@pytest.mark.parametrize(("settings", "complaint"), BAD, ids=[words[0] for words, _ in BAD])
def test_a_bad_configuration_is_one_line_and_nothing_is_written(
    home: Path, settings: Sequence[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["tiny", f"out={home / 'out'}", *settings]
    assert main(["search", *words, "--config-dir", str(home / "conf")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("search: ")
    assert complaint in line
    assert not (home / "out").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["search", "nothing"], "search: unknown configuration nothing"),
        (["search", "latency_cut_in", "sytem=late"], "unknown key sytem"),
        (["search", "latency_cut_in", "search.space.speed.high=9"], "speed = 9: must be 3 to 6"),
        (["search", "latency_cut_in", "search.space.phase.low=-3"], "phase = -3: must be -2 to 2"),
        (["search", "latency_cut_in", "--study", "search.study.seeds=[]"], "study.seeds = []"),
        (["search", "latency_cut_in", "--study", "search.study.systems=1"], "study.systems = 1"),
        (["search", "latency_cut_in", "--study", "search.study.samplers=[cma]"], "unknown name"),
        (
            ["search", "latency_cut_in", "--study", "search.study.confirm.least=11"],
            "least = 11: must be from 1 up to count = 10",
        ),
        (["search", "latency_cut_in", "system=ideal_single"], "ideal_single reads no messages"),
        (["confirm", "/nowhere"], "/nowhere: not a search"),
        (["confirm", "/nowhere", "--most", "0"], "must be ≥ 1"),
        (["confirm", "/nowhere", "--redraws", "3", "--least", "4"], "least = 4: must be from 1"),
        (["shrink", "/nowhere", "--cells", "-1"], "--cells -1: must be ≥ 0"),
        (["curves", "/nowhere"], "/nowhere: no search in it"),
    ],
)
def test_bad_commands_are_one_line(
    words: Sequence[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert complaint in line


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--rounds", "0"], "--rounds 0: must be ≥ 1"),
        (["--width", "0"], "--width 0: must be > 0 and ≤ 1"),
        (["--proposal", "/nowhere"], "/nowhere: not a search"),
    ],
)
def test_bad_rates_are_one_line(
    words: Sequence[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rate(["latency_cut_in", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert complaint in line


def test_a_folder_that_is_no_search_is_left_as_it_is(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "out").mkdir()
    (home / "out" / "campaign.yaml").write_text("mine")
    out = f"out={home / 'out'}"
    assert main(["search", "tiny", out, "--config-dir", str(home / "conf")]) == 2
    assert "not empty and not a search" in capsys.readouterr().err
    assert [path.name for path in (home / "out").iterdir()] == ["campaign.yaml"]


def test_several_routes_are_one_more_choice(home: Path) -> None:
    folder = home / "two"
    folder.mkdir()
    write_configuration(folder, "hop", "step")
    plan = plan_search(compose_search_config("tiny", [], [folder / "conf"]))
    assert plan.search.space[-1] == SpaceParameter(
        name="route", unit="", kind="choice", choices=("hop", "step")
    )
    assert plan.get_assignment({"delay": 0.1, "route": "step"}).route.name == "step"


def test_hazards_of_an_evaluation_have_its_values() -> None:
    plan = plan_search(compose_search_config("latency_cut_in", []))
    values = {"delay": 0.0, "speed": 5.5, "phase": -1.2}
    (spec,) = plan.get_assignment(values).hazards
    (before,) = plan.assignments[0].hazards
    assert spec.parameters == {**before.parameters, "speed": 5.5, "phase": -1.2}
    assert spec.station == before.station
    assert plan.build_condition(values) == []
    assert plan.build_condition({**values, "delay": 0.3})[0]["seconds"] == 0.3
    assert plan.template.get_source_values(plan.search.space, plan.assignments[0]) == {
        "speed": 4.2,
        "phase": -1.5,
    }


def test_whole_numbers_are_whole_in_a_condition() -> None:
    space = (SpaceParameter(name="count", unit="1", high=3, kind="whole"),)
    part = {"_target_": "harness.channel.interference.ghosts.Ghosts", "count": "${count}"}
    (filled,) = read_template({"condition": [part]}, space).fill_parts({"count": 2.0})
    assert filled["count"] == 2
    assert isinstance(filled["count"], int)


def test_trials_have_both_ends_of_every_range() -> None:
    space = (
        SpaceParameter(name="delay", unit="s", high=1),
        SpaceParameter(name="body", unit="", kind="choice", choices=("car", "van", "bus")),
    )
    trials = list(iterate_trial_values(space))
    assert {trial["body"] for trial in trials} == {"car", "van", "bus"}
    assert min(float(trial["delay"]) for trial in trials) == 0
    assert max(float(trial["delay"]) for trial in trials) == pytest.approx(1)


def test_options_may_stand_before_settings() -> None:
    words = ["search", "mine", "--study", "a=1", "--config-dir", "x=y", "b=2"]
    assert order_settings_first(words, before=1) == [
        *("search", "mine", "a=1", "b=2", "--study", "--config-dir", "x=y")
    ]
    assert order_settings_first(["--rounds", "5", "mine", "a=1"], before=0) == [
        *("--rounds", "5", "mine", "a=1")
    ]


def test_an_unknown_choice_names_what_is_valid(home: Path) -> None:
    with pytest.raises(UserError, match="unknown choice nothing"):
        compose_search_config("tiny", ["system=nothing"], [home / "conf"])
