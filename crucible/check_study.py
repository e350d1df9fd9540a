"""A study as `crucible check` composes it: with the user's files before the shipped ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.campaign.settings.composing import compose_config
from harness.campaign.settings.composition import explain_composition_error
from harness.campaign.settings.config import resolve_settings
from harness.campaign.settings.declared import CampaignSettings
from harness.checks.study import StudyExamination
from harness.common.errors import UserError
from harness.common.findings import Finding
from harness.common.installation import CONF
from harness.common.suggestions import describe_unknown_name

CHOICE, GROUP, SUFFIX = "study=", "study", ".yaml"


def is_study(name: str) -> bool:
    """Return whether a name is that of a study: `study=NAME`, or a file of YAML."""
    return name.startswith(CHOICE) or name.endswith(SUFFIX)


def check_composed_study(
    name: str, folders: Sequence[Path], *, trust: bool = False
) -> list[Finding]:
    """Return what the check of a study finds; a study that is not there is bad input.

    Args:
        name: of the study.
        folders: of `--config-dir`.
        trust: build all classes that files of the folders name.
    """
    study, folders = resolve_study_folders(name, folders)

    def composed(chosen: str) -> CampaignSettings:
        override = f"{CHOICE}{chosen}"
        try:
            config = compose_config([override], folders, trust=trust)
        except Exception as problem:  # Hydra and OmegaConf have no common one
            raise UserError(explain_composition_error(problem, [override], folders)) from None
        settings: CampaignSettings = resolve_settings(config)
        return settings

    return StudyExamination(study, composed).list_findings()


def resolve_study_folders(name: str, folders: Sequence[Path]) -> tuple[str, list[Path]]:
    """Return a study's name, and the folders of configuration that it is composed with."""
    if name.startswith(CHOICE):
        study, known = name.removeprefix(CHOICE), list(folders)
    else:
        file = Path(name)
        if file.parent.absolute().name != GROUP:
            raise UserError(
                f"{name}: a study lies in a folder called {GROUP}, as DIR/{GROUP}/NAME.yaml"
            )
        study, known = file.stem, [file.parent.absolute().parent, *folders]
    files = [folder / GROUP / f"{study}{SUFFIX}" for folder in (*known, CONF)]
    if not any(file.is_file() for file in files):
        there = sorted({path.stem for file in files for path in file.parent.glob(f"*{SUFFIX}")})
        looked = ", ".join(str(file.parent) for file in files)
        raise UserError(
            f"{describe_unknown_name('study', study, there, 'studies')}; looked in {looked}"
        )
    return study, known
