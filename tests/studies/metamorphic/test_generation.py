"""Changed scenes as recordings: training reads them, labels are counted again, runs go on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.training.samples import RecordedSamples
from harness.common.errors import UserError
from harness.common.recordings import PROTOCOL, AgentLook, list_scenarios, read_look, write_look
from harness.types.vocabulary import Integers
from studies.metamorphic.__main__ import main
from studies.metamorphic.catalogue import select_catalogue_entries
from studies.metamorphic.judging.following import apply_operator
from studies.metamorphic.running import generation as module
from studies.metamorphic.running.generation import (
    GenerationCandidate,
    GenerationSettings,
    KeepRule,
    generate_recordings,
    parse_keep_rule,
    select_candidates,
)
from studies.metamorphic.scenes.owners import find_point_owners
from studies.metamorphic.scenes.recount import recount_hits
from studies.metamorphic.scenes.scene import (
    CooperativeScene,
    list_scene_sources,
    make_agent_view,
    read_scene,
)
from tests.studies.metamorphic.rendered import look_of, sparse

OPERATORS = ("rain", "fog", "insert", "delete", "stray_points_100")


def generation_of(recording: Path, folder: Path, **changed: Any) -> GenerationSettings:
    settings: dict[str, Any] = {
        "recordings": (recording,),
        "operators": OPERATORS,
        "keep": KeepRule(),
        "system": "late",
        "scenes": None,
        "seed": 3,
    }
    return GenerationSettings(**{**settings, **changed}, folder=folder)


@pytest.fixture(scope="module")
def made(recording: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "out"
    generate_recordings(generation_of(recording, folder), 1, lambda _: None)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def slow_count(look: AgentLook) -> Integers:
    """Count points of road users by label and by box, one box after another."""
    assert look.surfaces is not None
    users = np.isin(look.surfaces.labels, np.arange(12, 20))
    counts = []
    for box in look.truth.boxes_in_lidar.geometry:
        xyz = look.points_in_lidar[users, :3] - box[:3]
        cos, sin = np.cos(box[6]), np.sin(box[6])
        ahead, aside = cos * xyz[:, 0] + sin * xyz[:, 1], cos * xyz[:, 1] - sin * xyz[:, 0]
        over = np.abs(np.column_stack([ahead, aside, xyz[:, 2]])) - box[3:6] / 2
        counts.append(int((over.max(axis=1) < 0.15).sum()))
    return np.array(counts)


@pytest.mark.thorough
def test_training_reads_one_sample_of_a_changed_scene(made: Path) -> None:
    recorded = list_scenarios(made)
    assert {scenario.town for scenario in recorded} == {"CrucibleOld"}
    for units in (False, True):
        samples = RecordedSamples(recorded, units=units)
        assert len(samples) == len(recorded) > len(OPERATORS)
    sample = samples.read_sample(0)
    assert len(sample.partners) == 2
    assert len(sample.truth) == len(sample.hits_anyone)


@pytest.mark.thorough
def test_headers_have_how_they_were_made(made: Path) -> None:
    for protocol in made.glob("[!.]*/data_protocol.yaml"):
        record = json.loads(protocol.read_text())
        assert record["operator"] in OPERATORS
        assert record["made_from"].startswith("rendered-")
        assert record["purpose"] == "training"
        assert protocol.parent.name.endswith(record["operator"])
    assert json.loads((made / "header.json").read_text())["seed"] == 3


@pytest.mark.thorough
def test_labels_are_counted_again_in_weather(made: Path) -> None:
    fewer = 0
    for scenario in list_scenarios(made):
        operator = json.loads((scenario.folder / PROTOCOL).read_text())["operator"]
        if operator not in ("rain", "fog"):
            continue
        for agent in scenario.list_agents():
            look = read_look(scenario.folder, agent, "000000")
            assert np.abs(look.truth.hits - slow_count(look)).max() <= 1  # rounding of 4 mm
            before = {v.agent: v for v in sparse().views}[agent]
            fewer += int((look.truth.hits < before.truth.hits).sum())
            assert (look.truth.hits <= before.truth.hits).all()
    assert fewer > 0


def test_written_points_are_those_of_the_operator(recording: Path, made: Path) -> None:
    source = list_scene_sources([recording])[0]
    change = apply_operator(
        read_scene(source), "rain", select_catalogue_entries(("rain",))["rain"], seed=3
    )
    assert not isinstance(change, str)
    folder = made / f"{module.format_flat_name(source)}-rain"
    for view in change.scene.views:
        look = read_look(folder, view.agent, "000000")
        apart = np.abs(look.points_in_lidar[:, :3] - view.points_in_lidar[:, :3])
        assert apart.max() <= 1 / 512 + 1e-5
        assert np.hypot(*look.points_in_lidar[:, :2].T).min() > 0.5  # nothing at the origin
        assert look.surfaces is not None
        assert len(look.surfaces) == len(look.points_in_lidar)


def test_inserted_objects_are_labelled_and_what_is_made_up_is_ignored(made: Path) -> None:
    inserted = [s for s in list_scenarios(made) if s.folder.name.endswith("insert")]
    assert inserted
    known = {view.agent: set(view.truth.actor_ids.tolist()) for view in sparse().views}
    for scenario in inserted:
        look = read_look(scenario.folder, scenario.list_egos()[0], "000000")
        assert len(set(look.truth.actor_ids.tolist()) - known[look.agent]) == 1
    for scenario in (s for s in list_scenarios(made) if s.folder.name.endswith("delete")):
        record = json.loads((scenario.folder / PROTOCOL).read_text())
        look = read_look(scenario.folder, scenario.list_egos()[0], "000000")
        unjudged = np.isin(look.truth.actor_ids, record["unjudged"])
        assert (look.truth.hits[unjudged] == 1).all()
        assert len(known[look.agent] - set(look.truth.actor_ids.tolist())) == 1


@pytest.mark.thorough
def test_equal_commands_write_equal_bytes_and_go_on(
    recording: Path, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = generation_of(recording, tmp_path / "out")
    written = 0

    def stopped(*given: Any) -> None:
        nonlocal written
        written += 1
        if written == 4:
            raise KeyboardInterrupt
        write_look(*given)

    monkeypatch.setattr(module, "write_look", stopped)
    with pytest.raises(KeyboardInterrupt):
        generate_recordings(asked, 1, lambda _: None)
    monkeypatch.undo()
    assert len(list_scenarios(tmp_path / "out")) == 1
    generate_recordings(asked, 1, lambda _: None)
    assert contents(tmp_path / "out") == contents(made)


def test_another_generation_in_the_same_folder_is_refused(recording: Path, made: Path) -> None:
    with pytest.raises(UserError, match=r"has other .*operators"):
        generate_recordings(generation_of(recording, made, operators=("rain",)), 1, lambda _: None)


def test_guides_keep_the_best_until_the_budget() -> None:
    candidates = [
        GenerationCandidate(scene=n, operator="rain", objects=objects, scores={"vgt": value})
        for n, (objects, value) in enumerate([(1, 0.1), (9, 0.9), (5, 0.5), (5, 0.7)])
    ]
    frames = select_candidates(candidates, KeepRule(guide="vgt", share=0.5), 1)
    assert [one.scene for one in frames] == [1, 3]
    objects = select_candidates(candidates, KeepRule(guide="vgt", share=0.45, budget="objects"), 1)
    assert [one.scene for one in objects] == [1]  # 9 of 20
    more = select_candidates(candidates, KeepRule(guide="vgt", share=0.5, budget="objects"), 1)
    assert [one.scene for one in more] == [1, 3]  # 10 of 20 need a second one


def test_recounting_an_unchanged_scene_changes_nothing() -> None:
    scene: CooperativeScene = sparse()
    views = [replace(view, points_in_lidar=view.points_in_lidar.copy()) for view in scene.views]
    same = replace(scene, ego=views[0], partners=tuple(views[1:]))
    for before, after in zip(scene.views, recount_hits(scene, same).views, strict=True):
        assert np.array_equal(before.truth.hits, after.truth.hits)
    ego = scene.ego
    on = find_point_owners(ego, np.arange(len(ego.points_in_lidar)))
    actor = int(ego.truth.actor_ids[np.argmax(ego.truth.hits)])
    kept = on != actor
    bare = replace(
        ego,
        points_in_lidar=ego.points_in_lidar[kept],
        surfaces=None if ego.surfaces is None else ego.surfaces[kept],
    )
    hits = recount_hits(scene, replace(scene, ego=bare)).ego.truth.hits
    assert hits[ego.truth.actor_ids == actor].tolist() == [0]
    assert (hits == np.where(ego.truth.actor_ids == actor, 0, ego.truth.hits)).all()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--operators", "pose_error"], "pose_error: changes messages and no sweep"),
        (["--operators", "rain", "--keep", "vtg:0.1"], "unknown guide vtg"),
        (["--operators", "rain", "--keep", "vgt:x"], "must be GUIDE:SHARE"),
        (["--operators", "rain", "--keep", "vgt:1.5"], "the share must be > 0"),
        (["--operators", "rain", "--count", "0"], "--count 0: must be 1 or more"),
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
    assert main(["metamorphic", "generate", *given, *arguments]) == 2
    printed = capsys.readouterr().err
    assert line in printed
    assert printed.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_guides_are_asked_for_as_guide_and_share() -> None:
    assert parse_keep_rule("v2xgen:0.15", "objects") == KeepRule(
        guide="v2xgen", share=0.15, budget="objects"
    )
    assert parse_keep_rule("random") == KeepRule()


def test_a_view_is_read_as_it_was_written(tmp_path: Path) -> None:
    view = sparse().ego
    write_look(tmp_path, "000000", look_of(view))
    again = make_agent_view(read_look(tmp_path, view.agent, "000000"))
    assert np.array_equal(again.truth.hits, view.truth.hits)
