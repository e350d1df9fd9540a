"""From the words of a command line to a system."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import yaml
from hydra.errors import HydraException
from hydra.utils import instantiate
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.errors import UserError
from harness.installation import CONF

SHIPPED = CONF / "system"


def maker(name: str, given: Sequence[str]) -> Callable[[], Any]:
    """Return what makes the named system, again and again, with arguments `key=value`."""
    settings = settings_of(name, given)
    return lambda: made(name, settings)


def settings_of(name: str, given: Sequence[str]) -> dict[str, Any]:
    """Return the settings of a shipped system, or of the class `package.module:Class`."""
    words = [each for each in given if "=" not in each]
    if words:
        raise UserError(f"{words[0]}: arguments are told as name=value")
    if ":" in name or "." in name:
        settings: dict[str, Any] = {"_target_": ".".join(name.split(":"))}
        refuse_no_class(name)
    else:
        file = SHIPPED / f"{name}.yaml"
        if not file.is_file():
            shipped = ", ".join(sorted(each.stem for each in SHIPPED.glob("*.yaml")))
            raise UserError(f"{name}: a class is told as package.module:Class; shipped: {shipped}")
        settings = yaml.safe_load(file.read_text())[name]
    try:
        merged = OmegaConf.merge(settings, OmegaConf.from_dotlist(list(given)))
        plain = OmegaConf.to_container(merged, resolve=True, throw_on_missing=True)
    except (OmegaConfBaseException, ValueError) as problem:
        raise UserError(f"{' '.join([name, *given])}: {one_line(problem)}") from None
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


def refuse_no_class(name: str) -> None:
    """Refuse a name under which there is no class to be found from here."""
    sys.path[:0] = [""] * ("" not in sys.path)
    module, _, kind = name.replace(":", ".").rpartition(".")
    try:
        found = getattr(import_module(module), kind)
    except Exception as problem:
        raise UserError(f"{name}: {type(problem).__name__}: {one_line(problem)}") from None
    if not isinstance(found, type):
        raise UserError(f"{name} is no class")


def made(name: str, settings: dict[str, Any]) -> Any:
    """Return a system, or say why there is none."""
    try:
        return instantiate(settings, _convert_="all")
    except HydraException as problem:
        cause = problem.__cause__ or problem
        if isinstance(cause, UserError):
            raise cause from None
        raise UserError(
            f"{name} cannot be made: {type(cause).__name__}: {one_line(cause)}"
        ) from None


def one_line(problem: BaseException) -> str:
    """Return what an exception says, on one line."""
    return " ".join(str(problem).split()) or type(problem).__name__
