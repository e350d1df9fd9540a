"""A configuration composed from files and a command line; no file of it can run code.

Hydra's public `compose` is called, not its `main`: nothing is built, no environment variable is
set, no logging is configured and no folder is written. Files may come from a stranger. Whatever
they set in Hydra's own node is refused (`hydra_node.py`), interpolations use settings alone
(`resolvers.py`), and classes that are not declared safe need trust (`given_files.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from hydra import compose, initialize_config_dir
from hydra.core.config_search_path import ConfigSearchPath, SearchPathQuery
from hydra.errors import HydraException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from harness.campaign.settings.given_files import GivenFiles
from harness.campaign.settings.hydra_node import (
    NODE,
    find_foreign_keys,
    load_hydra_defaults,
    load_hydra_plugins,
)
from harness.campaign.settings.partner_choices import add_partner_choices
from harness.campaign.settings.resolvers import ENVIRONMENT, pure_resolvers
from harness.common.errors import UserError
from harness.common.installation import CONF
from harness.common.safe_reading import SETTINGS_FILE, check_regular

TOP = "config"
"""The file that all others are composed into."""
NO_OTHER_FOLDERS = "hydra.searchpath=[]"
"""In front of all overrides: a file's own search path may name packages, which are imported."""


SETS_HYDRA = ("/hydra/", "hydra.", "hydra:")
"""How a file begins to set something of Hydra's."""


class UserConfigFirst(SearchPathPlugin):
    """Lets files of `--config-dir DIR` take the place of shipped ones; Hydra only adds them."""

    folders: ClassVar[Sequence[Path]] = ()

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Put the folders before the shipped configuration."""
        main = SearchPathQuery(provider="main")
        for folder in self.folders:
            search_path.prepend("crucible", f"file://{folder.absolute()}", main)


@contextmanager
def register_config_folders(folders: Sequence[Path]) -> Iterator[None]:
    """Let Hydra find files of these folders before the shipped ones while the block lasts."""
    plugins = load_hydra_plugins()
    plugins.register(UserConfigFirst)
    UserConfigFirst.folders = folders
    try:
        with initialize_config_dir(version_base="1.3", config_dir=str(CONF)):
            yield
    finally:
        UserConfigFirst.folders = ()


def compose_config(
    overrides: Sequence[str], folders: Sequence[Path] = (), *, trust: bool = False
) -> DictConfig:
    """Return the configuration of a command line, without Hydra's own node.

    Args:
        overrides: words of the command line, `group=choice` and `setting=value`
        folders: those of `--config-dir`, the first one first
        trust: whether files of the folders may name classes that are not declared safe
    """
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"--config-dir {folder}: folder not found")
        refuse_odd_files(folder)
    known = load_hydra_defaults()
    with register_config_folders(folders), pure_resolvers():
        # compose with Hydra, and refuse settings of Hydra's
        try:
            words = [NO_OTHER_FOLDERS, *add_partner_choices(overrides)]
            config = compose(TOP, words, return_hydra_config=True)
        except HydraException as problem:
            blame_hydra_settings(problem, GivenFiles(folders, chosen_in(overrides)))
            raise
        # files that were chosen: a refusal names the file
        choices = OmegaConf.to_container(config[NODE].runtime.choices, resolve=False)
        assert isinstance(choices, dict)
        files = GivenFiles(folders, {str(group): chosen for group, chosen in choices.items()})
        for key in find_foreign_keys(config, known):
            where = files.place_of(NODE)
            raise UserError(f"{where}{key}: Crucible takes nothing from hydra.*; remove it")
        with open_dict(config):
            del config[NODE]
        refuse_environment_variables(config, files)
    # classes that a file names are built only with trust
    if folders and not trust:
        files.refuse_untrusted(config, overrides, shipped)
    return config


def refuse_odd_files(folder: Path) -> None:
    """Refuse links, pipes, devices and files larger than settings, before Hydra reads any."""
    groups = [entry.name for entry in CONF.iterdir() if entry.is_dir()]
    for place in (folder, *(folder / group for group in groups)):
        for file in sorted(place.glob("*.yaml")):
            check_regular(file, SETTINGS_FILE, within=folder)


def blame_hydra_settings(problem: HydraException, files: GivenFiles) -> None:
    """Refuse a file whose own settings of Hydra are what could not be composed."""
    complaint = str(problem).partition("Available options")[0]
    about_hydra = "hydra/" in complaint or "hydra." in complaint
    if about_hydra and (where := files.place_of(*SETS_HYDRA)):
        raise UserError(f"{where}Crucible takes nothing from hydra.*; remove it") from None


def chosen_in(overrides: Sequence[str]) -> dict[str, str]:
    """Return the choices of groups that words of the command line have."""
    words = (word.lstrip("+").partition("=") for word in overrides)
    return {group: choice for group, _, choice in words if "." not in group}


def shipped(overrides: Sequence[str]) -> DictConfig:
    """Return the configuration of shipped files and these words."""
    return compose_config(overrides)


def refuse_environment_variables(config: DictConfig, files: GivenFiles) -> None:
    """Refuse a setting that asks for an environment variable; others are resolved later."""
    try:
        resolve_config_values(config)
    except OmegaConfBaseException as problem:
        text = " ".join(str(problem).split())
        if f"${{{ENVIRONMENT}:" in text and problem.full_key:
            raise UserError(
                f"{files.place_of(ENVIRONMENT)}{problem.full_key}: "
                f"{text[text.index('${') :].partition(' full_key:')[0]}"
            ) from None


def resolve_config_values(config: Any) -> Any:
    """Return plain values, with interpolations replaced by what they stand for."""
    with pure_resolvers():
        return OmegaConf.to_container(config, resolve=True)
