"""What a check of a published model finds: files, form, weights, paths, licence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agents.bundles.bundle import (
    MEASURABLE,
    NO_SETTINGS,
    V2XVERSE,
    ModelBundle,
    find_bundle_weights,
    find_expected_precision,
    read_bundle,
)
from harness.common.errors import UserError
from harness.common.findings import Finding
from harness.common.safe_reading import CHECKPOINT, sum_of_file

if TYPE_CHECKING:
    from torch import Tensor

KernelLayout = Literal["spconv 1", "spconv 2", "unknown"]
STATISTICS = ("running_mean", "running_var")
"""How keys of batch normalisation end that are no parameters."""
LARGEST_KERNEL = 3
"""Voxels along a side of a sparse convolution in this family."""
MODEL_KINDS = ("checkpoint", "model", "perception")
"""Last words of kinds in `meta.yaml` that are models; CAVISE's catalogue has assets, too."""
ABSENT = "-"
HEAD = ("bundle", "form", "network", "data set", "sees, m", "parameters", "licence", "verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedBundle:
    """A bundle, or a folder that is none, and what was found."""

    folder: Path
    bundle: ModelBundle | None
    parameters: int | None
    findings: tuple[Finding, ...]

    @property
    def name(self) -> str:
        """What it is called."""
        return self.folder.name if self.bundle is None else self.bundle.name

    @property
    def verdict(self) -> str:
        """The worst of the findings."""
        verdicts = {finding.verdict for finding in self.findings}
        return (
            "failed" if "failed" in verdicts else "warning" if "warning" in verdicts else "passed"
        )

    def list_cells(self) -> tuple[str, ...]:
        """Return its row of the table, in the order of `HEAD`."""
        bundle = self.bundle
        if bundle is None:
            return (self.name, *[ABSENT] * (len(HEAD) - 2), self.verdict)
        window = bundle.window
        return (
            bundle.name,
            bundle.form,
            bundle.network,
            bundle.data_set,
            ABSENT if window is None else f"±{window[0]:g} by ±{window[1]:g}",
            ABSENT if self.parameters is None else f"{self.parameters:,}",
            bundle.licence,
            self.verdict,
        )


def check_bundle(folder: Path) -> CheckedBundle:
    """Return what is found of one folder; what is refused in it is a failed finding."""
    try:
        bundle = read_bundle(folder)
    except UserError as problem:
        sentence = " ".join(str(problem).split())
        return CheckedBundle(
            folder=folder,
            bundle=None,
            parameters=None,
            findings=(Finding("form", "failed", sentence),),
        )
    if bundle.form == NO_SETTINGS:
        return CheckedBundle(
            folder=folder,
            bundle=bundle,
            parameters=None,
            findings=(*check_artifacts(bundle), explain_no_settings(bundle)),
        )
    findings = [*check_artifacts(bundle), *check_settings(bundle)]
    state: Mapping[str, Tensor] = {}
    if bundle.form == V2XVERSE:
        findings += check_v2xverse_pair(folder)
    else:
        try:
            state = read_weights(folder)
            findings += check_weights(state)
        except UserError as problem:
            findings.append(Finding("weights", "failed", " ".join(str(problem).split())))
    return CheckedBundle(
        folder=folder,
        bundle=bundle,
        parameters=count_parameters(state) or None,
        findings=tuple(findings),
    )


def count_parameters(state: Mapping[str, Tensor]) -> int:
    """Return how many numbers gradients change: all but the statistics of normalisation."""
    return sum(
        numbers.numel()
        for name, numbers in state.items()
        if numbers.is_floating_point() and not name.endswith(STATISTICS)
    )


def check_artifacts(bundle: ModelBundle) -> Iterator[Finding]:
    """Yield whether the files that `meta.yaml` lists are there, of their size and digest."""
    artifacts = bundle.meta.get("artifacts")
    if artifacts is None:
        yield Finding("files", "note", "no meta.yaml lists them: no size or digest to compare")
        return
    if not isinstance(artifacts, list) or not all(isinstance(one, Mapping) for one in artifacts):
        yield Finding("files", "failed", "meta.yaml: artifacts is no list of files")
        return
    wrong = [why for one in artifacts for why in compare_artifact(bundle.folder, one)]
    for why in wrong:
        yield Finding("files", "failed", why)
    if not wrong:
        yield Finding("files", "passed", f"{len(artifacts)} of their size and digest")


def compare_artifact(folder: Path, artifact: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with one file that `meta.yaml` lists."""
    name = str(artifact.get("path", ""))
    path = folder / name
    # a path that leads out of the folder is none of the bundle's
    if not name or Path(name).is_absolute() or ".." in Path(name).parts:
        yield f"{name!r} is no file of the bundle"
        return
    if not path.is_file():
        yield f"{name} is missing"
        return
    size = path.stat().st_size
    if size != artifact.get("size"):
        yield f"{name} has {size:,} bytes; meta.yaml says {artifact.get('size')}"
    elif (digest := sum_of_file(path, within=folder, kind=CHECKPOINT)) != artifact.get("sha256"):
        yield f"{name}: its SHA-256 is {digest[:12]}…; meta.yaml has another one"


def explain_no_settings(bundle: ModelBundle) -> Finding:
    """Return what a folder without settings is: a model that is not whole, or no model."""
    if bundle.kind.rpartition("-")[2] in MODEL_KINDS or "kind" not in bundle.meta:
        return Finding("form", "failed", f"it has no config.yaml; meta.yaml: {bundle.kind}")
    return Finding("form", "note", f"no model: meta.yaml calls it {bundle.kind}")


def check_settings(bundle: ModelBundle) -> Iterator[Finding]:
    """Yield form, average precision's rule, and paths that lead nowhere."""
    yield Finding("form", "passed", f"{bundle.form}; its AP is {bundle.precision_rule}")
    if (expected := find_expected_precision(bundle)) is not None:
        yield Finding("precision", "note", f"{expected.source}: AP@0.5 {expected.value:.3f}")
    if bundle.data_set.endswith("?"):
        yield Finding("form", "warning", "its data set is not named; it is guessed from its paths")
    if dead := bundle.list_dead_paths():
        names = ", ".join(dead)
        lead = "leads" if len(dead) == 1 else "lead"
        yield Finding("paths", "note", f"{names} {lead} nowhere; {explain_dead_paths(bundle)}")
    if bundle.meta and bundle.licence == "not named":
        yield Finding("licence", "warning", "meta.yaml names no licence")


def explain_dead_paths(bundle: ModelBundle) -> str:
    """Return what a driving model gets where its settings name a folder that is not there.

    OpenCOOD and HEAL get an empty folder (`agents.opencood.child.settings.prepare_settings`), and
    V2Xverse a word that is no path (`agents.v2xverse.child.stack.link_checkpoint`).
    """
    if bundle.form in MEASURABLE:
        return "when the model drives, Crucible gives it an empty folder in place of a missing one"
    return "when the model drives, nothing is read from there"


def check_v2xverse_pair(folder: Path) -> Iterator[Finding]:
    """Yield what perception and planner of V2Xverse are, without settings of a run."""
    from agents.v2xverse.agent_files import WHERE  # noqa: PLC0415 - torch
    from agents.v2xverse.checkpoint_report import describe_checkpoint  # noqa: PLC0415 - torch

    for finding in describe_checkpoint(folder):
        said = finding.sentence.removeprefix("system: ").removesuffix(f"; {WHERE}")
        yield replace(finding, sentence=said)


def read_weights(folder: Path) -> Mapping[str, Tensor]:
    """Return the weights of a bundle by name."""
    from agents.perception.checkpoints import read_state_dict  # noqa: PLC0415 - needs torch

    return read_state_dict(find_bundle_weights(folder))


def check_weights(state: Mapping[str, Tensor]) -> Iterator[Finding]:
    """Yield whether the weights are numbers, and what order their sparse kernels have."""
    broken = [
        key
        for key, numbers in state.items()
        if numbers.is_floating_point() and not bool(numbers.isfinite().all())
    ]
    if broken:
        yield Finding("weights", "failed", f"{broken[0]} is not finite ({len(broken)} such keys)")
    else:
        yield Finding("weights", "passed", f"{len(state)} keys, all finite")
    layout = find_kernel_layout(state)
    if layout == "spconv 1":
        yield Finding(
            "weights", "note", "kernels of spconv 1: system=opencood turns them for spconv 2"
        )
    elif layout == "unknown":
        yield Finding("weights", "failed", "sparse kernels of neither spconv 1 nor spconv 2")


def find_kernel_layout(state: Mapping[str, Tensor]) -> KernelLayout | None:
    """Return the order of sparse kernels; None without any.

    spconv 1 keeps (z, y, x, in, out), spconv 2 keeps (out, z, y, x, in). A kernel of 3 channels
    fits both, so that all kernels decide together.
    """
    shapes = [tuple(numbers.shape) for numbers in state.values() if numbers.dim() == 5]
    if not shapes:
        return None
    fits_1 = all(max(shape[:3]) <= LARGEST_KERNEL for shape in shapes)
    fits_2 = all(max(shape[1:4]) <= LARGEST_KERNEL for shape in shapes)
    if fits_1 == fits_2:
        return "unknown"
    return "spconv 1" if fits_1 else "spconv 2"
