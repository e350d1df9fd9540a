"""MultiTest's search: what is written is what was worse, and runs go on where they stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.common.randomness import make_named_stream
from harness.common.recordings import PROTOCOL
from studies.metamorphic.__main__ import main
from studies.metamorphic.running.climbing import (
    SIDES,
    ClimbSettings,
    CrowdedScene,
    build_climb_sheet,
    compute_crowd_fitness,
    crowd_by_chance,
    get_row_file,
    run_climbing,
)
from studies.metamorphic.running.systems import build_named_system
from studies.metamorphic.scenes.scene import list_scene_sources, read_scene


def climbing_of(recording: Path, folder: Path, **changed: Any) -> ClimbSettings:
    settings: dict[str, Any] = {"system": "late", "scenes": None, "seed": 3}
    return ClimbSettings(**{**settings, **changed}, recordings=(recording,), folder=folder)


@pytest.fixture(scope="module")
def climbed(recording: Path, tmp_path_factory: pytest.TempPathFactory) -> ClimbSettings:
    climbing = climbing_of(recording, tmp_path_factory.mktemp("climbed") / "out")
    run_climbing(climbing, 1, lambda _: None)
    return climbing


@pytest.mark.thorough
def test_what_is_written_has_the_fitness_that_was_reached(climbed: ClimbSettings) -> None:
    system, agree = build_named_system("late"), []
    for source in climbed.select_sources():
        row = json.loads(get_row_file(climbed, source).read_text())
        sides = row["sides"]
        assert row["accepted"] <= row["evaluations"] <= climbed.tries * climbed.most
        assert sides["climbed"]["new"] == row["accepted"] == sides["random"]["new"]
        seed = read_scene(source)
        assert sides["recorded"]["fitness"] == compute_crowd_fitness(
            system, CrowdedScene(seed), seed
        )
        folder = climbed.folder / f"{source.name.replace('/', '-')}-climbed"
        assert folder.exists() == (row["accepted"] > 0)
        if not row["accepted"]:
            assert sides["climbed"] == sides["recorded"]
            continue
        assert sides["climbed"]["fitness"] > sides["recorded"]["fitness"]
        (written,) = (
            one for one in list_scene_sources([climbed.folder]) if one.scenario.folder == folder
        )
        scene = read_scene(written)
        new = set(scene.ego.truth.actor_ids.tolist()) - set(seed.ego.truth.actor_ids.tolist())
        assert len(new) == row["accepted"]
        # points are rounded to 4 mm, by which a detection at the threshold may flip
        again = compute_crowd_fitness(system, CrowdedScene(scene, frozenset(new)), seed)
        agree.append(again == pytest.approx(sides["climbed"]["fitness"], abs=0.01))
        assert json.loads((folder / PROTOCOL).read_text())["made_from"] == source.name
    assert len(agree) >= 3
    assert sum(agree) >= len(agree) - 1


@pytest.mark.thorough
def test_rows_that_are_there_are_not_searched_again(
    climbed: ClimbSettings, recording: Path
) -> None:
    before = {path: path.read_bytes() for path in climbed.folder.rglob("*") if path.is_file()}
    first = get_row_file(climbed, climbed.select_sources()[0])
    first.unlink()
    done: list[int] = []
    rows = run_climbing(climbed, 1, done.append)
    assert done == [len(rows) - 1, 1]
    after = {path: path.read_bytes() for path in climbed.folder.rglob("*") if path.is_file()}
    assert after == before
    table = build_climb_sheet(climbed, rows)
    assert [row[0] for row in table.rows] == list(SIDES.values())


@pytest.mark.thorough
def test_chance_puts_as_many_road_users(recording: Path) -> None:
    seed = CrowdedScene(read_scene(list_scene_sources([recording])[0]))
    crowded = crowd_by_chance(seed, 2, make_named_stream(1, "chance"))
    ids = set(crowded.scene.ego.truth.actor_ids.tolist())
    assert len(crowded.new) == 2
    assert ids - set(seed.scene.ego.truth.actor_ids.tolist()) == crowded.new


def test_nothing_made_worse_is_an_empty_table(recording: Path, tmp_path: Path) -> None:
    climbing = climbing_of(recording, tmp_path)
    row = {"scene": "s", "cluster": "c", "accepted": 0, "evaluations": 5, "sides": {}}
    table = build_climb_sheet(climbing, [row])
    assert table.rows == ()
    assert "0 of 1 by 1 or more" in table.note


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--system", "latest"], "unknown system latest; did you mean late?"),
        (["--tries", "0"], "--tries 0: must be 1 or more"),
    ],
)
def test_bad_input_is_one_line(
    recording: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    line: str,
) -> None:
    given = ["--scenes", str(recording), "--out", str(tmp_path / "out"), "--workers", "1"]
    assert main(["metamorphic", "climb", *given, *arguments]) == 2
    printed = capsys.readouterr().err
    assert line in printed
    assert printed.count("\n") == 1
    assert not (tmp_path / "out").exists()
