"""Command lines and classes that are odd: refused with one line, or taken as they are meant."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import run_campaign
from crucible.subcommands import dispatch_subcommand as main
from harness.campaign.folder.inputs import with_inputs
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.type_checks import find_type_mistakes
from harness.common.errors import UserError
from harness.types.systems import System
from harness.types.vocabulary import (
    Boxes,
    Control,
    EgoObservation,
    Message,
    Observation,
    Route,
    Step,
)
from tests.campaign.tiny import composed, write_route

if TYPE_CHECKING:
    from fractions import Fraction

LINES = {
    "study=null": "Config group override must be a string or a list",
    "--multirun": "no multirun: a campaign takes lists of systems, conditions and seeds",
    "study=endless": "maximum recursion depth exceeded",
    "interference=[none,'500']": "interference has the name 500; a word is needed",
    "interference.latency=late": "interference.latency is 'late'; a list, each item",
    "+routes.onyl=[1]": "routes: unknown key onyl; did you mean only? valid keys: file,",
    "+record.point=true": "record: unknown key point; did you mean points? valid keys: points",
    f"routes.file={'x' * 300}": "routes.file: xxx",
    "routes.file='~no.such.user/x'": "routes.file: ~no.such.user/x: no home directory",
    "out='~no.such.user/x'": "out: ~no.such.user/x: no home directory of that name",
}
GROUPS = {
    "study/endless.yaml": "# @package _global_\nmine: &it\n  again: *it\n",
    "interference/500.yaml": "500: []\n",
}
MINE = "tests.campaign.test_odd_settings."


@pytest.mark.parametrize("setting", LINES)
def test_one_line_and_nothing_written(
    setting: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, text in GROUPS.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["run_campaign.py", f"--config-dir={tmp_path}", setting])
    with pytest.raises(SystemExit) as ended:
        run_campaign.main()
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    (line,) = said.err.splitlines()
    assert LINES[setting] in line
    assert sorted(tmp_path.rglob("*")) == before


def test_a_place_that_cannot_be_looked_at_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["routes", "list", "x" * 300]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"{'x' * 300}: File name too long\n")


class Mine:
    """What any system has."""

    reads_points = True
    reads_messages = True

    def reset(self, seed: int, route: Route) -> None: ...

    def share(self, observation: Observation) -> Boxes:
        return Boxes.none()

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        return Step(Control(), Boxes.none(), Boxes.none())


class Lazy(Mine):
    def __init__(self, size: Fraction | None = None) -> None: ...


class TakesAll(Mine):
    def __init__(self, size: int = 1, *others: int, **options: Any) -> None: ...


class Declared(Mine, System):
    """Says that it is one, and inherits a constructor that takes anything."""


class Loose(Mine):
    def __init__(self, options: dict, steps: list) -> None: ...


class Reads(Mine):
    def __init__(self, one: str, other: str) -> None: ...

    @classmethod
    def files(cls, one: str, other: str) -> list[str]:
        return [one, other]


class Loses(Mine):
    @classmethod
    def files(cls) -> list[str]:
        raise FileNotFoundError("no weights here")


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> Callable[..., CampaignSettings]:
    """Return settings with a system of these tests, which have been checked."""
    monkeypatch.setattr("harness.campaign.settings.config.THEIRS", ("tests.",))

    def settle(name: str, *more: str) -> CampaignSettings:
        settings = composed(f"+system.mine._target_={MINE}{name}", *more)
        refuse_misshapen(settings)
        return settings

    return settle


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("Lazy", ["+system.mine.size=5"]),
        ("TakesAll", ["+system.mine.size=2", "+system.mine.anything=3"]),
        ("Declared", []),
        ("Loose", ["+system.mine.options={a: 1}", "+system.mine.steps=[1,b]"]),
    ],
)
def test_constructors_with_few_annotations_are_accepted(
    name: str, more: list[str], settled: Callable[..., CampaignSettings]
) -> None:
    settled(name, *more)


def test_a_type_that_is_no_expression_says_nothing(
    settled: Callable[..., CampaignSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Lazy.__init__.__annotations__, "size", "any size")
    settled("Lazy", "+system.mine.size=5")


def test_annotations_of_a_constructor_are_checked(
    settled: Callable[..., CampaignSettings],
) -> None:
    with pytest.raises(UserError, match=r"mine\.size is 'big'; a whole number is needed"):
        settled("TakesAll", "+system.mine.size=big")


def test_files_of_one_name_are_distinguished(
    settled: Callable[..., CampaignSettings], tmp_path: Path
) -> None:
    for number in "12":
        (tmp_path / number).mkdir()
        (tmp_path / number / "w.pt").write_text(number)
    files = [f"+system.mine.{name}={tmp_path}/{at}/w.pt" for name, at in (("one", 1), ("other", 2))]
    settings = settled("Reads", *files)
    before = with_inputs(settings)["inputs"]["system"]["mine"]
    assert list(before) == ["w.pt"]
    for number in "12":
        (tmp_path / number / "w.pt").write_text("other weights")
        assert with_inputs(settings)["inputs"]["system"]["mine"] != before


def test_a_system_that_cannot_name_its_files_is_one_line(
    settled: Callable[..., CampaignSettings],
) -> None:
    with pytest.raises(UserError, match=r"system\.mine: files: no weights here"):
        with_inputs(settled("Loses"))


def test_a_folder_of_routes_is_identified_by_all_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "routes"
    folder.mkdir()
    file = shutil.move(write_route(tmp_path) / "routes.xml", folder / "a.xml")
    settings = composed(f"routes.file={folder}", "routes.hazards=null", "routes.only=null")

    def digest() -> str:
        return str(with_inputs(settings)["inputs"]["routes"]["file"])

    sums = [digest()]
    shutil.copy(file, folder / "b.xml")
    sums.append(digest())
    (folder / "b.xml").rename(folder / "c.xml")
    sums.append(digest())
    (folder / "c.xml").write_text("<routes/>")
    sums.append(digest())
    assert len(set(sums)) == len(sums)


def test_names_have_a_separate_type() -> None:
    assert list(find_type_mistakes({"a": 1, 2: 3}, dict[str, int], "x")) == [
        "x has the name 2; a word is needed"
    ]
    assert list(find_type_mistakes({0: 0.5}, dict[int, float], "x")) == []
    assert list(find_type_mistakes({0: True}, dict[int, float] | None, "x")) == [
        "x is {0: True}; one setting or more by name or null is needed"
    ]
