"""From the arguments of a command line to a system or another plug-in."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import yaml
from hydra.errors import HydraException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.common.errors import UserError
from harness.common.installation import CONF
from harness.common.plugins import describe_plugin_origin
from harness.common.suggestions import describe_unknown_name

SHIPPED = CONF / "system"


def make_system_factory(name: str, given: Sequence[str]) -> Callable[[], Any]:
    """Return a factory of the named system with arguments `key=value`.

    Args:
        name: of a shipped system, or `package.module:Class`.
        given: arguments `key=value`.
    """
    settings = resolve_system_settings(name, given)
    return lambda: instantiate_system(name, settings)


def resolve_system_settings(name: str, given: Sequence[str]) -> dict[str, Any]:
    """Return the settings of a shipped system, or of the class `package.module:Class`.

    Args:
        name: of a shipped system, or `package.module:Class`.
        given: arguments `key=value`.

    Returns:
        Plain settings with `_target_`.

    Raises:
        UserError: no such system, or arguments that cannot be read.
    """
    words = [word for word in given if "=" not in word]
    if words:
        raise UserError(f"{words[0]}: arguments are given as name=value")
    if is_class_name(name):
        settings: dict[str, Any] = {"_target_": ".".join(name.split(":"))}
        load_named_class(name)
    else:
        file = SHIPPED / f"{name}.yaml"
        if not file.is_file():
            text = describe_unknown_name(
                "system", name, sorted(path.stem for path in SHIPPED.glob("*.yaml"))
            )
            text += ", or package.module:Class of your own"
            raise UserError(f"{text}{describe_plugin_origin(name)}")
        settings = yaml.safe_load(file.read_text())[name]
    try:
        # settings of a shipped system may refer to those of a campaign
        merged = OmegaConf.merge(settings, OmegaConf.from_dotlist(list(given)))
        # A campaign has a simulator to which settings may refer; here there is none.
        around = OmegaConf.create({"simulator": {"maps": None}, "system": merged})
        refuse_missing_arguments(name, around)
        plain = OmegaConf.to_container(around.system, resolve=True, throw_on_missing=True)
    except (OmegaConfBaseException, ValueError) as problem:
        raise UserError(f"{' '.join([name, *given])}: {format_exception(problem)}") from None
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


def refuse_missing_arguments(name: str, around: DictConfig) -> None:
    """Raise UserError if a required setting has no value; a mistyped name is reported first."""
    missing = sorted(OmegaConf.missing_keys(around))
    if missing:
        refuse_unknown_arguments(name, around.system)
        first = missing[0].removeprefix("system.")
        raise UserError(f"{name}: {first} is not set; write {first}=VALUE")


def refuse_unknown_arguments(name: str, settings: Mapping[Any, Any]) -> None:
    """Raise UserError if the class does not take an argument."""
    parameters = inspect.signature(load_named_class(settings["_target_"])).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        for key in settings:
            if key not in {"_target_", *parameters}:
                if not parameters:
                    raise UserError(f"{name} takes no arguments")
                raise UserError(
                    f"{name}: {describe_unknown_name('argument', str(key), parameters)}"
                )


def is_class_name(name: str) -> bool:
    """Return whether a name is that of a class, not of something shipped."""
    return ":" in name or "." in name


def load_named_class(name: str) -> type[Any]:
    """Return the class of a name; refuse one that cannot be imported as a class."""
    sys.path[:0] = [""] * ("" not in sys.path)
    module, _, kind = name.replace(":", ".").rpartition(".")
    try:
        target = getattr(import_module(module), kind)
    except ModuleNotFoundError as problem:
        # the package of the name itself, not one that its modules import
        package = module.partition(".")[0]
        where = f"; the folder that holds {package} must be the working directory or in PYTHONPATH"
        advice = where if problem.name == package else ""
        raise UserError(f"{name}: ModuleNotFoundError: {problem}{advice}") from None
    except Exception as problem:
        raise UserError(f"{name}: {type(problem).__name__}: {format_exception(problem)}") from None
    if not isinstance(target, type):
        raise UserError(f"{name} is not a class")
    return target


def instantiate_system(name: str, settings: dict[str, Any]) -> Any:
    """Return an instance; an exception becomes an error of one line."""
    refuse_unknown_arguments(name, settings)
    try:
        return instantiate(settings, _convert_="all")
    except HydraException as problem:
        cause = problem.__cause__ or problem
        if isinstance(cause, UserError):
            raise cause from None
        raise UserError(
            f"{name} cannot be instantiated: {type(cause).__name__}: {format_exception(cause)}"
        ) from None


def format_exception(problem: BaseException) -> str:
    """Return an exception's text on one line."""
    return " ".join(str(problem).split()) or type(problem).__name__
