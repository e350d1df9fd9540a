"""What a campaign folder may have built: classes that declare themselves safe, and no other."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

import pytest
import yaml

from harness.__main__ import main
from harness.campaign.settings.config import OURS, build_part
from harness.campaign.settings.trust import is_declared_safe, refuse_untrusted
from harness.channel.interference.loss import Loss
from harness.common.errors import UserError
from harness.evaluation.driving import DrivingRules
from harness.records.twins import TWINS
from tests.campaign.many import finish
from tests.campaign.tiny import composed, environment, write_route
from tests.conftest import ROOT
from tests.keys import key_of

SAFE = {
    "agents.driving.driver.Driver",
    "agents.driving.proposing.idm_driver.IdmDriver",
    "agents.driving.proposing.settings.ProposalSettings",
    "harness.channel.links.carla_loss.CarlaLink",
    "harness.channel.attacks.ghost.GhostAttack",
    "harness.channel.attacks.hidden.RemovalAttack",
    "harness.channel.attacks.hidden.ShiftAttack",
    "harness.channel.attacks.perturbation.PerturbationAttack",
    "harness.channel.attacks.replay.ReplayAttack",
    "harness.channel.attacks.sybil.SybilAttack",
    "harness.channel.attacks.wrong_pose.WrongPoseAttack",
    "harness.channel.defences.consensus.Consensus",
    "harness.channel.defences.free_space.FreeSpace",
    "harness.channel.defences.layered.Layered",
    "harness.channel.defences.match.Match",
    "harness.channel.defences.omission.Omission",
    "harness.channel.defences.plausibility.Plausibility",
    "harness.channel.defences.reputation.Reputation",
    "harness.channel.links.cellular.LteLink",
    "harness.channel.links.cellular.NrLink",
    "harness.channel.links.its_g5.ItsG5Link",
    "harness.channel.links.trace.TraceLink",
    "harness.channel.messages.collective_perception.CpmFormat",
    "harness.channel.messages.compressed_features.CompressedFeatures",
    "agents.ideal_single.IdealSingle",
    "agents.driving.settings.DrivingSettings",
    "agents.ideal_late.IdealLate",
    "agents.oracle.Oracle",
    "agents.sharing_oracle.SharingOracle",
    "agents.perception.cameras.systems.BothIntermediate",
    "agents.perception.cameras.systems.BothLate",
    "agents.perception.cameras.systems.BothSingle",
    "agents.perception.cameras.systems.CameraIntermediate",
    "agents.perception.cameras.systems.CameraLate",
    "agents.perception.cameras.systems.CameraSingle",
    "agents.perception.cameras.systems.MixedIntermediate",
    "agents.perception.cameras.systems.MixedLate",
    "agents.perception.fusion.attfuse.AttFuse",
    "agents.perception.fusion.codriving.CoDriving",
    "agents.perception.fusion.disconet.DiscoNet",
    "agents.perception.fusion.fcooper.FCooper",
    "agents.perception.fusion.v2vnet.V2VNet",
    "agents.perception.fusion.v2xvit.Transformer",
    "agents.perception.fusion.v2xvit.V2XViT",
    "agents.perception.systems.Early",
    "agents.driving.scaled.ScaledDriver",
    "agents.perception.systems.Intermediate",
    "agents.perception.systems.Late",
    "agents.perception.systems.Single",
    "harness.campaign.running.executors.local.LocalExecutor",
    "harness.evaluation.interventions.inject.Inject",
    "harness.evaluation.interventions.repair.Repair",
    "harness.evaluation.metrics.braking.HardestBraking",
    "harness.evaluation.metrics.clearance.Clearance",
    "harness.channel.channel.Channel",
    "harness.channel.compensation.boxes.BoxCompensation",
    "harness.channel.compensation.features.FeatureCompensation",
    "harness.channel.computing.declared.DeclaredTime",
    "harness.channel.computing.measured.MeasuredTime",
    "harness.channel.interference.bandwidth.Bandwidth",
    "harness.channel.interference.clock_offset.ClockOffset",
    "harness.channel.interference.counterfactual.Counterfactual",
    "harness.channel.interference.ego_latency.Fixed",
    "harness.channel.interference.ego_latency.Uniform",
    "harness.channel.interference.feature_corruption.Scattered",
    "harness.channel.interference.feature_corruption.WholeChannels",
    "harness.channel.interference.ghosts.Ghosts",
    "harness.channel.interference.gnss.GnssError",
    "harness.channel.interference.latency.Fixed",
    "harness.channel.interference.latency.Normal",
    "harness.channel.interference.latency.Uniform",
    "harness.channel.interference.loss.BurstLoss",
    "harness.channel.interference.loss.Loss",
    "harness.channel.interference.paper_code_latency.PaperCodeLatency",
    "harness.channel.interference.pictures.Blur",
    "harness.channel.interference.pictures.DroppedCamera",
    "harness.channel.interference.pictures.Glare",
    "harness.channel.interference.pictures.Miscalibration",
    "harness.channel.interference.pictures.Night",
    "harness.channel.interference.pose_error.Constant",
    "harness.channel.interference.pose_error.Fixed",
    "harness.channel.interference.pose_error.NormalPoseError",
    "harness.channel.interference.pose_error.Uniform",
    "harness.channel.interference.pose_error.Walk",
    "harness.channel.interference.removed.Removed",
    "harness.channel.interference.speedometer.SpeedometerError",
    "harness.channel.interference.stray_points.StrayPoints",
    "harness.channel.interference.stray_points.StrayReturns",
    "harness.channel.interference.weather.Fog",
    "harness.channel.interference.weather.Rain",
    "harness.channel.interference.weather.Snow",
    "harness.channel.interference.weather.WetGround",
    "harness.evaluation.driving.DrivingRules",
    "harness.evaluation.frame_evaluation.EvaluationSettings",
    "harness.evaluation.scoring.Coefficients",
    "harness.evaluation.windows.WindowRules",
    "harness.world.brakes.TyreGrip",
    "harness.world.cameras.CameraMount",
    "harness.world.changes.added.AddedActor",
    "harness.world.changes.added_far.AddedFar",
    "harness.world.changes.another_body.AnotherBody",
    "harness.world.changes.hazard_changed.HazardChanged",
    "harness.world.changes.left_out.LeftOut",
    "harness.world.changes.moved.Moved",
    "harness.world.changes.noise_seed.NoiseSeed",
    "harness.world.changes.second_sender.SecondSender",
    "harness.world.changes.turned.Turned",
    "harness.world.changes.twin_of.TwinOf",
    "harness.world.partners.Ahead",
    "harness.world.partners.Cooperation",
    "harness.world.partners.Surveyed",
    "harness.world.rig.LidarMount",
    "harness.world.rig.Rig",
    "harness.world.routes.scenario_sets.InterDriveRoutes",
    "harness.world.routes.scenario_sets.MDriveRoutes",
    "harness.world.routes.sources.RouteFiles",
    "harness.world.routes.sources.V2XverseRoutes",
    "harness.world.simulators.carlite.CarliteSimulator",
    "harness.world.traffic.Traffic",
}
"""Every class that a folder may have built unasked: a new one is to be looked at, and added."""
NEEDS_TRUST = {
    "agents.leaderboard.language_model.LanguageModel",
    "agents.leaderboard.system.LeaderboardAgent",
    "agents.leaderboard.system.PrivilegedLeaderboardAgent",
    "agents.opencood.system.OpenCood",
    "agents.v2xverse.system.V2Xverse",
    "harness.campaign.exports.mlflow.MLflow",
    "harness.campaign.exports.tensorboard.TensorBoard",
    "harness.campaign.exports.wandb.WeightsAndBiases",
    "harness.campaign.running.executors.ray.RayExecutor",
    "harness.campaign.running.executors.slurm.SlurmExecutor",
    "harness.world.simulators.CarlaSimulator",
}
"""Those of our own configurations that start programs, write files or open connections."""
KEY = key_of("ideal_late", "latency", "bend", 1)
WATCHED = """
import os, sys
from harness.campaign.settings.config import build_part
from tests.campaign.test_trust import shipped

found = dict(shipped())
for settings in found.values():
    build_part(settings, "system" if settings["_target_"].startswith("agents.") else
    "interference.x")

def watch(event, given):
    writes = event == "open" and isinstance(given[1], str) and set(given[1]) & set("wax+")
    if writes or event in DOING:
        print(event, given, file=sys.stderr, flush=True)
        os._exit(1)

DOING = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.remove",
    "os.rename", "os.mkdir", "os.rmdir", "os.chdir", "os.putenv", "socket.connect", "socket.bind"}
sys.addaudithook(watch)
for name, settings in found.items():
    build_part(settings, "system" if settings["_target_"].startswith("agents.") else
    "interference.x")
print(len(found))
"""


def reachable() -> dict[str, type[Any]]:
    """Return every class that a `_target_` can name in any group, by its own name."""
    by_name: dict[str, type[Any]] = {}
    listed = {one for ours in OURS.values() for one in ([ours] if isinstance(ours, str) else ours)}
    for prefix in sorted(listed):
        for module in modules(prefix.rstrip(".")):
            for name, thing in vars(module).items():
                if isinstance(thing, type) and f"{thing.__module__}.".startswith(prefix):
                    by_name[f"{thing.__module__}.{name}"] = thing
    return by_name


def modules(name: str) -> Iterator[ModuleType]:
    """Yield a module and all modules in it, but for programs."""
    top = import_module(name)
    yield top
    for module in walk_packages(getattr(top, "__path__", ()), f"{name}."):
        if not module.name.endswith(".__main__"):
            yield import_module(module.name)


def shipped() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield our own configurations of systems and disturbances that are safe to build."""
    for file in sorted((ROOT / "conf" / "system").glob("*.yaml")):
        (settings,) = yaml.safe_load(file.read_text()).values()
        if settings.get("weights") == "???":  # none are shipped yet
            settings["weights"] = "random"
        if settings["_target_"] not in NEEDS_TRUST:
            yield f"system {file.stem}", settings
    for file in sorted((ROOT / "conf" / "interference").glob("*.yaml")):
        for disturbances in yaml.safe_load(file.read_text()).values():
            for number, settings in enumerate(disturbances):
                yield f"interference {file.stem} {number}", settings


def test_every_class_that_can_be_named_is_known_to_be_safe_or_needs_trust() -> None:
    classes = reachable()
    safe = {f"{k.__module__}.{k.__qualname__}" for k in classes.values() if is_declared_safe(k)}
    for name, class_ in sorted(classes.items()):
        print("safe       " if is_declared_safe(class_) else "needs trust", name)
    assert safe == SAFE
    assert len(classes) > 100
    groups = {prefix: group for group, prefix in OURS.items()}
    for name in set(classes) - safe:
        group = next(group for prefix, group in groups.items() if name.startswith(prefix))
        with pytest.raises(UserError, match=r"not declared safe .*--trust"):
            refuse_untrusted(Path("c"), {group: {"x": {"_target_": name}}})


def test_our_configurations_are_safe_but_for_those_that_do_more_than_compute() -> None:
    targets = set()
    for file in (ROOT / "conf").rglob("*.yaml"):
        for line in file.read_text().splitlines():
            if "_target_:" in line:
                targets.add(line.split("_target_:")[1].split("#")[0].strip(" -}"))
    assert targets > NEEDS_TRUST
    for target in sorted(targets):
        module, _, name = target.rpartition(".")
        class_ = getattr(import_module(module), name)
        assert is_declared_safe(class_) == (target not in NEEDS_TRUST), target


def test_a_declaration_is_not_inherited() -> None:
    class Doer(Loss):
        """Might do anything."""

    assert Doer.safe_from_file is True
    assert not is_declared_safe(Doer)
    assert is_declared_safe(DrivingRules)  # made again by its decorator, with slots


@pytest.mark.thorough
def test_building_what_is_declared_safe_starts_and_writes_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCHED],
        check=False,
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == len(dict(shipped())) > 20


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a campaign that is finished, of one system."""
    routes = write_route(tmp_path_factory.mktemp("trust"))
    files = (f"routes.file={routes / 'routes.xml'}", f"routes.hazards={routes / 'hazards.json'}")
    settings = composed("routes.only=null", "seeds=[1]", "system=ideal_late", *files)
    finish(routes / "out", settings)
    return routes / "out"


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["twin", "attribute"])
@pytest.mark.parametrize("place", ["system", "twins"])
def test_a_strangers_folder_does_not_run_code(
    command: str, place: str, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, mark = shutil.copytree(made, tmp_path / "out"), tmp_path / "mark"
    (folder / "allowances.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    evil = {
        "_target_": "agents.v2xverse.child.stack.Stack",
        "root": str(folder),
        "agent_config": "x",
        "perception": ["x", "x"],
        "planner": "x",
        "folder": "x",
    }
    if (command, place) == ("twin", "system"):
        code = (
            "from harness.campaign.settings.config import build_part;"
            f" build_part({evil!r}, 'system.x')"
        )
        subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT, capture_output=True)
        assert mark.exists(), "this is how it would be done"
        mark.unlink()
    file = folder / "campaign.yaml"
    header = yaml.safe_load(file.read_text())
    if place == "system":
        header["settings"]["system"]["ideal_late"] = evil
    else:
        target = "harness.channel.channel.MessageUnderway"
        header["settings"]["interference"]["latency"] = [{"_target_": target}]
    file.write_text(yaml.safe_dump(header))
    assert main([command, str(folder), str(KEY)]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "--trust" in said
    assert not mark.exists()
    assert not (folder / TWINS).exists()


def test_twins_that_lie_in_the_folder_already_are_looked_at_too(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(made, tmp_path / "out")
    header = yaml.safe_load((folder / "campaign.yaml").read_text())
    header["twins_of"] = header["digest"]
    underway = {"_target_": "harness.channel.channel.MessageUnderway"}
    header["settings"]["interference"] = {"latency resampled 1": [underway]}
    (folder / TWINS).mkdir()
    (folder / TWINS / "campaign.yaml").write_text(yaml.safe_dump(header))
    assert main(["twin", str(folder), str(KEY), "--resample", "2"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert f"{folder / TWINS}: interference.latency resampled 1.0 names" in said


def test_status_builds_nothing_that_is_not_declared_safe(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also not of the packages that its user has named for campaigns of their own."""
    monkeypatch.setattr("harness.campaign.settings.config.THEIRS", ("tests.",))
    folder, mark = shutil.copytree(made, tmp_path / "out"), tmp_path / "mark"
    file = folder / "campaign.yaml"
    header = yaml.safe_load(file.read_text())
    toucher = {"_target_": "tests.campaign.test_trust.Toucher", "file": str(mark)}
    header["settings"]["interference"]["latency"] = [toucher]
    file.write_text(yaml.safe_dump(header))
    assert main(["status", str(folder)]) == 0
    assert "not declared safe to be built from a file" in " ".join(capsys.readouterr().out.split())
    assert not mark.exists()
    with pytest.raises(UserError):
        build_part(toucher, "interference.latency")  # it is no disturbance, but it has touched
    assert mark.exists()


class Toucher:
    """Writes a mark to a given path, and fails."""

    def __init__(self, file: str) -> None:
        Path(file).touch()
        raise ValueError("done")


def test_no_target_names_a_program() -> None:
    with pytest.raises(UserError, match="only agents"):
        build_part({"_target_": "agents.v2xverse.child.__main__.main"}, "system.x")
