"""What files of `--config-dir` may set without `--trust`: a study may come from a stranger.

The words of a command line are the user's own, and so are the packages in CRUCIBLE_PACKAGES. Files
may name the classes that are declared safe to be built from a file (`trust.py`). A part that names
any other class is accepted if shipped files and the words give the same part. Files may not choose
a campaign folder outside of the working directory, or a viewer that drives are sent to.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.campaign.settings.config import find_class, format_one_line, is_of_user
from harness.campaign.settings.resolvers import pure_resolvers
from harness.campaign.settings.trust import is_declared_safe, iter_targets
from harness.common.errors import UserError

GROUP_OF = {"search": "interference"}
"""The group whose classes a part of another group may name: a search has a condition."""
MOST_FILES = 200
"""Files of a folder that are looked through for a line to blame."""
Compose = Callable[[Sequence[str]], DictConfig]


class GivenFiles:
    """The files of `--config-dir` that a configuration was composed with."""

    def __init__(self, folders: Sequence[Path], choices: Mapping[str, Any]) -> None:
        self._folders, self._choices = folders, choices

    def place_of(self, *words: str) -> str:
        """Return the first file that has one of some words, as `FILE: `; nothing if none has."""
        blamed = (file for file in self._files() if any(has_word(file, word) for word in words))
        return f"{first}: " if (first := next(blamed, None)) else ""

    def refuse_untrusted(
        self, config: DictConfig, overrides: Sequence[str], compose: Compose
    ) -> None:
        """Refuse what a file alone has set and only its user may choose."""
        settings = resolve_plain_settings(config)
        given = {word.lstrip("+~").partition("=")[0] for word in overrides}
        # where it writes, and where it sends
        if "out" not in given and is_elsewhere(out := settings.get("out")):
            raise UserError(
                f"{self.place_of('out')}out = {out}: outside of the working directory; write"
                " out=DIR on the command line, or pass --trust if you trust the file"
            )
        if "live" not in given and isinstance(live := settings.get("live"), str):
            raise UserError(
                f"{self.place_of('live')}live = {live}: a viewer elsewhere; write live=ADDRESS on"
                " the command line, or pass --trust if you trust the file"
            )
        # what it builds: unless words of the command line alone give the same part
        for place, part in iter_targets(settings, ""):
            target = part["_target_"]
            if not is_safe(target, place) and part != self._by_words(place, overrides, compose):
                raise UserError(
                    f"{self.place_of(str(target).rpartition('.')[2])}{place} names {target}, which"
                    " is not declared safe to be built from a file; look at the file, and pass"
                    " --trust if you trust it"
                )

    def _by_words(self, place: str, overrides: Sequence[str], compose: Compose) -> Any:
        """Return the part that shipped files and the words of its group give, if they do."""
        group = place.partition(".")[0]
        words = [word for word in overrides if parse_group_name(word) == group]
        try:
            return dict(iter_targets(resolve_plain_settings(compose(words)), "")).get(place)
        except Exception:  # a choice that only the folder has; Hydra's errors have no common class
            return None

    def _files(self) -> Iterator[Path]:
        """Yield the files that were chosen, then all of the folders."""
        for folder in self._folders:
            for group, chosen in self._choices.items():
                for name in chosen if isinstance(chosen, list) else [chosen]:
                    yield folder / group.partition("@")[0] / f"{name}.yaml"
            yield from sorted(folder.rglob("*.yaml"))[:MOST_FILES]


def has_word(file: Path, word: str) -> bool:
    """Return whether a file can be read and has a word in it."""
    try:
        return file.is_file() and word in file.read_text(errors="replace")
    except OSError:
        return False


def resolve_plain_settings(config: DictConfig) -> dict[str, Any]:
    """Return settings as a campaign resolves them, and a search as it is written."""
    names = [str(key) for key in config]
    rest = OmegaConf.masked_copy(config, [name for name in names if name not in GROUP_OF])
    searched = OmegaConf.masked_copy(config, [name for name in names if name in GROUP_OF])
    try:
        with pure_resolvers():
            settings = OmegaConf.to_container(rest, resolve=True)
    except OmegaConfBaseException as problem:
        raise UserError(f"configuration: {format_one_line(problem)}") from None
    written = OmegaConf.to_container(searched, resolve=False)
    assert isinstance(settings, dict)
    assert isinstance(written, dict)
    return {str(name): value for name, value in (settings | written).items()}


def is_safe(target: Any, place: str) -> bool:
    """Return whether a file may name a class there; one that nothing may name is refused later."""
    if is_of_user(target):
        return True
    group, dot, rest = place.partition(".")
    try:
        return is_declared_safe(find_class(target, f"{GROUP_OF.get(group, group)}{dot}{rest}"))
    except UserError:
        return True


def is_elsewhere(out: Any) -> bool:
    """Return whether a campaign folder lies outside of the working directory."""
    if not isinstance(out, str):
        return False
    return os.path.normpath(out).startswith(("~", "..", "/"))


def parse_group_name(word: str) -> str:
    """Return the first name of a word of the command line: `system` of `+system.late.size=1`."""
    return word.lstrip("+~").partition("=")[0].partition("@")[0].partition(".")[0]
