"""`crucible run`: Hydra composes the configuration, the campaign runs."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import traceback
from difflib import get_close_matches
from pathlib import Path
from typing import get_type_hints

os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # its problems come to us, and leave as one line

import hydra
from hydra._internal.utils import get_args_parser
from hydra.core.config_search_path import ConfigSearchPath, SearchPathQuery
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig

from harness.campaign.run import BAD_INPUT, SOME_FAILED, run
from harness.campaign.settings.annotated import annotated
from harness.campaign.settings.composition import explained
from harness.campaign.settings.declared import Settings
from harness.campaign.settings.sweeps import SWEEP
from harness.installation import CONF
from harness.options import unknown_argument
from harness.records.arms import NONE

SWEEPS = ("-m", "--multirun")
CONDITIONS = "interference"
CONFIG_FOLDER = ("--config-dir", "-cd")


class UserConfigFirst(SearchPathPlugin):
    """Lets files of `--config-dir DIR` take the place of shipped ones; Hydra only adds them."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Put the folder before the shipped configuration."""
        for folder in config_folders(sys.argv[1:]):
            main = SearchPathQuery(provider="main")
            search_path.prepend("crucible", f"file://{folder.absolute()}", main)


def config_folders(arguments: list[str]) -> list[Path]:
    """Return the folders that a command line names with `--config-dir`."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(*CONFIG_FOLDER, type=Path, action="append", default=[], dest="folders")
    folders: list[Path] = parser.parse_known_args(arguments)[0].folders
    return folders


def refuse_unknown_options(arguments: list[str]) -> None:
    """Refuse an option that Hydra does not have; settings are written without dashes."""
    parser = get_args_parser()
    for word in parser.parse_known_args(arguments)[1]:
        key = word.partition("=")[0].strip("-").replace("-", "_")
        close = get_close_matches(key, get_type_hints(Settings), n=1)
        if close:
            raise ValueError(f"unknown option {word}; did you mean {close[0]}=...?")
        raise ValueError(unknown_argument(word, list(parser._option_string_actions)))


def with_sweep_alone(arguments: list[str]) -> list[str]:
    """Return the words with `interference=none` before a sweep, unless they choose conditions."""
    keys = [word.partition("=")[0].lstrip("+~") for word in arguments]
    swept = [number for number, key in enumerate(keys) if key.partition(".")[0] == SWEEP]
    if not swept or any(key.partition(".")[0] == CONDITIONS for key in keys):
        return arguments
    return [*arguments[: swept[0]], f"{CONDITIONS}={NONE}", *arguments[swept[0] :]]


def overrides_in(arguments: list[str]) -> list[str]:
    """Return the words of a command line that choose and set, without Hydra's options."""
    overrides: list[str] = get_args_parser().parse_known_args(arguments)[0].overrides
    return overrides


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")
def compose(config: DictConfig) -> None:
    """Run the campaign of a configuration; an unexpected error is printed with its traceback."""
    try:
        code = run(config)
    except Exception:
        traceback.print_exc()
        code = SOME_FAILED
    sys.exit(code)


def show() -> None:
    """Let Hydra print the configuration, and add what every setting means."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        compose()
    print(annotated(printed.getvalue()))


def main(arguments: list[str], program: str = "crucible run") -> int:
    """Run, and answer what cannot be composed with one line and exit code 2."""
    arguments = with_sweep_alone(arguments)
    sys.argv = [program, *arguments]  # Hydra reads its arguments there
    try:
        if any(word in SWEEPS for word in arguments):
            raise ValueError(
                "no multirun: a campaign takes lists of systems, conditions and seeds,"
                " and sizes of disturbances: sweep.latency=[0,0.2,0.5]"
            )
        refuse_unknown_options(arguments)
        Plugins.instance().register(UserConfigFirst)
        if get_args_parser().parse_known_args(arguments)[0].cfg:
            show()
        else:
            compose()
    except Exception as problem:  # Hydra and OmegaConf have no common one
        why = explained(problem, overrides_in(arguments), config_folders(arguments))
        print(f"{program}: {why}", file=sys.stderr)
        return BAD_INPUT
    return 0
