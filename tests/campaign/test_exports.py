"""Exports: what they are given, that none can harm a campaign, and what other tools read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.__main__ import main
from harness.campaign.attempt.tasks import AttemptOutcome, DrivePosition
from harness.campaign.exports.export import AttemptValues, CampaignFacts, Export
from harness.campaign.exports.exporting import add_export_listener, build_exports
from harness.campaign.exports.values import iter_dotted_settings
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.printing.progress import QuietListener
from harness.campaign.settings import config
from harness.campaign.settings.config import hash_settings
from harness.common.errors import UserError
from harness.records.arms import Arm
from harness.records.ledger import find_finished_tries
from tests.analysis.little import Drive, write_little
from tests.campaign.tiny import composed
from tests.keys import arm_of, key_of

LATE = arm_of("late", "none")
DRIVES = {
    key_of("late", "none", "1", 1): Drive(20),
    key_of("late", "none", "2", 1): Drive(15, "collision_vehicle"),
    key_of("alone", "none", "1", 1): Drive(10, "blocked"),
    key_of("alone", "none", "2", 1): Drive(20),
}
CALLS: list[tuple[str, Any]] = []


class Kept(Export):
    """Keeps what it is given."""

    def start(self, campaign: CampaignFacts) -> None:
        CALLS.append(("start", campaign))

    def attempt(self, attempt: AttemptValues) -> None:
        CALLS.append(("attempt", attempt))

    def end(self, means: Mapping[Arm, Mapping[str, float]]) -> None:
        CALLS.append(("end", means))


class Broken(Kept):
    """Fails at its first attempt."""

    def attempt(self, attempt: AttemptValues) -> None:
        raise ConnectionError("no\nroute to host")


class Heard(QuietListener):
    """Counts the tries that ended."""

    def __init__(self) -> None:
        self.ended = 0

    def ends(self, worker: int, outcome: AttemptOutcome, again: bool) -> None:
        self.ended += 1


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign of two arms on two routes; classes of tests may be named."""
    monkeypatch.setattr(config, "THEIRS", ("tests.",))
    CALLS.clear()
    arms = (("alone", "none"), ("late", "none"))
    folder = write_little(tmp_path / "little", arms, ("1", "2"), (1,), drives=DRIVES)
    file = folder / "campaign.yaml"
    header = yaml.safe_load(file.read_text())
    header["git"] = "0123456789ab+"
    header["settings"] |= {"study": {"name": "demo"}, "interference": {"latency": [{"mean": 0.5}]}}
    file.write_text(yaml.safe_dump(header))
    return folder


NO_EXPORT: Any = {
    "_target_": f"{config.OURS['export']}export.CampaignFacts",
    **dict.fromkeys(("folder", "study", "digest", "revision", "simulator", "settings"), 1),
}


def settings_with(*names: str) -> Any:
    return {"export": {name: {"_target_": f"{__name__}.{name}"} for name in names}}


def drive_through(folder: Path, *names: str) -> Heard:
    """Report every attempt of a folder as finished; return the listener."""
    heard = Heard()
    with add_export_listener(settings_with(*names), folder, heard) as listener:
        for key in sorted(find_finished_tries(folder)):
            listener.begins(1, key, 1)
            listener.drives(1, key, DrivePosition(completion=0.5, time=3.0))
            listener.ends(1, AttemptOutcome(key=key, number=1, failure="disk"), True)
            listener.ends(1, AttemptOutcome(key=key, number=1), False)
        listener.leaves(1, "")
    return heard


def test_attempts_and_means_as_the_records_have_them(campaign: Path) -> None:
    assert drive_through(campaign, "Kept").ended == 8
    (_, facts), *attempts, (last, means) = CALLS
    assert (facts.study, facts.digest, facts.revision) == ("demo", "0" * 8, "0123456789ab+")
    assert facts.settings["interference.latency.0.mean"] == 0.5
    assert facts.settings["seeds"] == "[1]"
    values = {(attempt.arm, attempt.route): attempt for _, attempt in attempts}
    crash = values[LATE, "2"]
    result = json.loads(
        (find_finished_tries(campaign)[key_of("late", "none", "2", 1)] / "result.json").read_text()
    )
    ours = result["crucible"]
    assert (crash.step, crash.violation, values[LATE, "1"].step) == (1, "collision_vehicle", 0)
    assert crash.values["driving_score"] == ours["driving_score"]
    assert crash.values["CADE_total"] == ours["patterns"]["total"]["CADE"]
    assert (crash.values["collided"], crash.values["violated"]) == (1.0, 1.0)
    assert (crash.values["duration"], crash.values["wall_seconds"]) == (15.0, 1.0)
    measures = ours["surrogates"]["measures"]
    known = {name: one["value"] for name, one in measures.items() if one["value"] is not None}
    exported = {name: value for name, value in crash.values.items() if "surrogate_" in name}
    assert known
    assert exported == {f"surrogate_{name}": value for name, value in known.items()}
    assert last == "end"
    scores = [values[LATE, route].values["driving_score"] for route in "12"]
    assert means[LATE]["driving_score"] == pytest.approx(sum(scores) / 2)
    assert means[LATE]["attempts"] == 2


def test_one_that_fails_is_one_line_and_others_go_on(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drive_through(campaign, "Broken", "Kept").ended == 8
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("export.Broken: stopped: no route to host; the campaign goes on")
    assert [name for name, _ in CALLS].count("attempt") == 4
    assert [name for name, _ in CALLS].count("end") == 1


def test_an_interrupted_campaign_ends_its_exports(campaign: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        add_export_listener(settings_with("Kept"), campaign, QuietListener()),
    ):
        raise KeyboardInterrupt
    assert [name for name, _ in CALLS] == ["start", "end"]


def test_without_exports_the_listener_is_the_same(campaign: Path) -> None:
    listener = QuietListener()
    with add_export_listener(settings_with(), campaign, listener) as same:
        assert same is listener


@pytest.mark.thorough
def test_what_cannot_export_is_refused_at_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.campaign.exports.export.find_spec", lambda name: None)
    for name in ("tensorboard", "mlflow", "wandb"):
        settings = composed(f"export={name}")
        with pytest.raises(UserError, match=f"^{name} is not installed: pip install {name}$"):
            refuse_misshapen(settings)
        assert hash_settings(settings) == hash_settings(composed())
    with pytest.raises(UserError, match=r"export\.x needs the _target_ of an Export"):
        build_exports({"x": NO_EXPORT})


def test_settings_are_flat() -> None:
    nested = {"a": {"b": [1, "x"], "c": {}}, "d": [{"e": None}, [2]], "f": True}
    assert dict(iter_dotted_settings(nested)) == {
        "a.b": "[1, 'x']",
        "a.c": "{}",
        "d.0.e": None,
        "d.1": "[2]",
        "f": True,
    }


@pytest.mark.usefixtures("prints_fit")
def test_the_command_passes_on_what_is_recorded(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(campaign), "--to", f"{__name__}:Kept"]) == 0
    assert capsys.readouterr().out == f"4 attempts exported to {__name__}:Kept\n"
    steps = [attempt.step for name, attempt in CALLS if name == "attempt"]
    assert steps == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["tensorbord"], "did you mean tensorboard?"),
        ([f"{__name__}:Kept", "x"], "x: a setting is written name=value"),
        ([f"{__name__}:Kept", "x=1"], "unknown key x"),
        (
            [f"{__name__}:Broken"],
            "export to tests.campaign.test_exports:Broken: ConnectionError: no route",
        ),
        (
            ["harness.common.files:UserError"],
            "only harness.campaign.exports.* and tests.* may be named",
        ),
    ],
)
def test_the_command_refuses_in_one_line(
    campaign: Path, words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(campaign), "--to", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert complaint in line


def exported(campaign: Path, *words: str) -> None:
    """Export with a shipped class, if its package is installed; start, resume, and export again."""
    if find_spec(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    assert main(["export", str(campaign), "--to", *words]) == 0


def test_tensorboard_reads_its_files(campaign: Path) -> None:
    exported(campaign, "tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    events = EventAccumulator(str(campaign / "tensorboard" / LATE.path))
    events.Reload()
    points = [
        (event.step, float(make_ndarray(event.tensor_proto)))
        for event in events.Tensors("attempt/collided")
    ]
    assert points == [(0, 0.0), (1, 1.0)]
    (mean,) = events.Tensors("mean/collided")
    assert float(make_ndarray(mean.tensor_proto)) == 0.5
    (text,) = events.Tensors("settings")
    assert b"| `interference.latency.0.mean` | `0.5` |" in text.tensor_proto.string_val[0]


def test_mlflow_returns_runs(campaign: Path, tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/runs.db"
    exported(campaign, "mlflow", f"uri={uri}")
    exported(campaign, "mlflow", f"uri={uri}")
    from mlflow.tracking import MlflowClient

    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("demo")
    runs = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    assert sorted(runs) == ["alone/none/none", str(LATE)]
    run = runs[str(LATE)]
    assert run.data.params["interference.latency.0.mean"] == "0.5"
    assert run.data.tags["crucible.revision"] == "0123456789ab+"
    assert (run.info.status, run.data.metrics["mean/collided"]) == ("FINISHED", 0.5)
    history = client.get_metric_history(run.info.run_id, "attempt/collided")
    assert {(metric.step, metric.value) for metric in history} == {(0, 0.0), (1, 1.0)}


def records_in(file: Path) -> bytes:
    """Return the records of a log as LevelDB writes it: blocks of 32 KiB, parts behind 7 bytes."""
    log, at, parts = file.read_bytes(), 7, []
    while at < len(log):
        left = 32768 - at % 32768
        size = int.from_bytes(log[at + 4 : at + 6], "little")
        if left < 7:
            at += left
            continue
        parts.append(log[at + 7 : at + 7 + size])
        at += 7 + size
    return b"".join(parts)


def test_weights_and_biases_works_offline(campaign: Path) -> None:
    exported(campaign, "wandb")
    files = sorted((campaign / "wandb").glob("offline-run-*/run-*.wandb"))
    late, alone = sorted(map(records_in, files), key=lambda log: b"collision_vehicle" not in log)
    assert b"blocked" in alone
    for text in (b"late/ahead/none", b"attempt/driving_score", b"interference.latency.0.mean"):
        assert text in late, text
    assert b"0123456789ab+" in late
