"""Campaigns from Python: run them, and read their records as DataFrames.

Attempts run in processes of their own, and reading needs neither a simulator nor the packages that
drive: a notebook that has imported CARLA's `agents` can use all of this.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.campaign_labels import parse_attempt_key
from analysis.collection import CampaignCollection, collect_campaigns
from harness.common.environments import build_child_environment
from harness.common.errors import UserError
from harness.common.subprocesses import build_module_command, describe_exit
from harness.common.suggestions import describe_unknown_name
from harness.records import reading
from harness.records.keys import AttemptKey
from harness.records.schema import ALL_TABLES

FINISHED, SOME_FAILED = 0, 1

Choice = str | Sequence[str] | None
"""One name or several of a group of the configuration; None: what the study says."""

Systems = str | type | Sequence[str | type] | Mapping[str, type] | None
"""Names of shipped systems, classes of your own, or such classes by the names they are to have."""


class CampaignError(RuntimeError):
    """A campaign could not run: the command's own line says why."""


class Campaign:
    """The records of a campaign, running or finished; everything is read when it is asked for."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).absolute()  # wherever the caller goes
        self._records = reading.CampaignRecords(self.folder)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the campaign was planned with."""
        settings: dict[str, Any] = self._records.header["settings"]
        return settings

    @property
    def attempts(self) -> pd.DataFrame:
        """A row for each finished attempt: its arm, route and seed, scores, violation, errors."""
        return self._collect_with_warnings().attempts

    @property
    def missing(self) -> pd.DataFrame:
        """A row for each planned attempt without a result, and how its last try ended."""
        return self._collect_with_warnings().missing

    @property
    def faults(self) -> pd.DataFrame:
        """A row for each arm that no table holds, and the reason.

        In none of its attempts so far did the system get what the arm is called after.
        """
        faults = self._collect_or_refuse().faults
        rows = [(str(fault.arm), fault.reason) for fault in faults]
        return pd.DataFrame(rows, columns=["arm", "reason"])

    def _collect_with_warnings(self) -> CampaignCollection:
        """Return the attempts, with a warning for each arm that is left out."""
        collection = self._collect_or_refuse()
        for fault in collection.faults:
            warnings.warn(
                f"{self.folder}: arm without effect, in no table: {fault.arm}: {fault.reason}",
                stacklevel=3,
            )
        return collection

    def _collect_or_refuse(self) -> CampaignCollection:
        """Return the attempts; a broken record is an error, and not left out."""
        collection = collect_campaigns([self.folder], partners=True)
        if len(collection.left_out):
            raise UserError(str(collection.left_out["reason"].iloc[0]))
        return collection

    def frames(self, **chosen: object) -> pd.DataFrame:
        """A row for each planning step: the ego, what it did, and the six error patterns.

        `chosen` are columns of `attempts` and the value, or list of values, to read:
        `campaign.frames(system="late", seed=[1, 2])`.
        """
        return self.table("frames", **chosen)

    def messages(self, **chosen: object) -> pd.DataFrame:
        """A row for each message of each planning step: sender, age, displacement."""
        return self.table("messages", **chosen)

    def boxes(self, **chosen: object) -> pd.DataFrame:
        """A row for each box: ground truth, and detections of the ego alone and by cooperation."""
        return self.table("boxes", **chosen)

    def events(self, **chosen: object) -> pd.DataFrame:
        """A row for each collision, infraction and hazard."""
        return self.table("events", **chosen)

    def table(self, name: str, **chosen: object) -> pd.DataFrame:
        """Return a table of the chosen attempts, each row with its attempt.

        Args:
            name: of a table, such as `frames` or `boxes`.
            chosen: values of columns of `attempts`, one or a list; none: all attempts.

        Returns:
            A row for each row of the attempts' tables; units are those of the records.

        Raises:
            UserError: an unknown table or column.
        """
        refuse_unknown_name(name, ALL_TABLES, "table")
        return self._records.read_attempt_tables(name, self._select_keys(chosen))

    def __repr__(self) -> str:
        return (
            f"<Campaign {self.folder.name}: {len(self._records.find_attempts())} attempts finished>"
        )

    def _select_keys(self, chosen: Mapping[str, object]) -> list[AttemptKey]:
        attempts = self.attempts
        self._records.find_attempts()  # after the table, so that all of its attempts are known
        for column, value in chosen.items():
            refuse_unknown_name(column, attempts.columns, "column of `attempts`")
            attempts = attempts[attempts[column].isin(as_list(value))]
        rows = zip(attempts["arm"], attempts["route"], attempts["seed"], strict=True)
        return [parse_attempt_key(arm, route, int(seed)) for arm, route, seed in rows]


def open_campaign(folder: str | Path) -> Campaign:
    """Return the records of a campaign's folder.

    Args:
        folder: with `campaign.yaml`.
    """
    return Campaign(folder)


def run_campaign(
    out: str | Path,
    *,
    study: str | None = None,
    system: Systems = None,
    cooperation: Choice = None,
    interference: Choice = None,
    routes: str | None = None,
    only: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    settings: Mapping[str, object] | None = None,
    show: bool = True,
) -> Campaign:
    """Run a campaign in processes of its own, or resume it; return its records.

    Arguments choose from the groups of the configuration, `only` names routes of the file;
    `settings` are further keys and values, as on the command line:
    `{"traffic.crossing_share": 0.2, "attempt_timeout": 300.0}`. Attempts that failed are listed in
    `Campaign.missing`. What cannot be planned raises a `CampaignError` with the command's line.

    Args:
        out: folder of the campaign.
        study: its name; None: the usual one.
        system: names, classes of the caller's, or both; None: the study's.
        cooperation: one or several; None: the study's.
        interference: conditions, one or several; None: the study's.
        routes: a choice of routes; None: the study's.
        only: ids of routes; None: all of the file.
        seeds: of each route; None: the study's.
        settings: further keys and values.
        show: print the command's lines.

    Returns:
        Its records.

    Raises:
        CampaignError: it cannot be planned, or the command ended early.
    """
    # arguments as words of the command line
    groups = {
        "study": study,
        "cooperation": as_choice_list(cooperation),
        "interference": as_choice_list(interference),
        "routes": routes,
        "routes.only": only,
        "seeds": seeds,
        "out": out,
    }
    names, classes = split_system_choice(system)
    overrides = [
        f"{key}={format_override_value(value)}"
        for key, value in groups.items()
        if value is not None
    ]
    # systems, and classes of the caller's own
    overrides += [f"system={format_override_value(names)}"] if system is not None else []
    overrides += [
        f"+system.{name}._target_={made.__module__}.{made.__qualname__}"
        for name, made in classes.items()
    ]
    overrides += [
        f"{key}={format_override_value(value)}" for key, value in (settings or {}).items()
    ]
    # progress without control characters, unless asked for
    with_progress = () if "progress" in (settings or {}) else ("progress=plain",)
    run_crucible_command(
        ["run", *overrides, *with_progress], build_system_environment(classes.values()), show
    )
    return Campaign(out)


def run_attempt(
    out: str | Path,
    *,
    system: str | type,
    route: str,
    interference: str = "none",
    seed: int = 1,
    **further: Any,
) -> Campaign:
    """Run one attempt; further arguments are those of `run_campaign`.

    Args:
        out: folder of the campaign.
        system: a shipped one by name, or a class of the caller's.
        route: its id in the route file.
        interference: name of the condition.
        seed: of the attempt.
        further: as `run_campaign` takes them.
    """
    return run_campaign(
        out, system=system, only=[route], interference=interference, seeds=[seed], **further
    )


def split_system_choice(system: Systems) -> tuple[list[str], dict[str, type]]:
    """Return the names of shipped systems and the classes by their names."""
    if system is None:
        return [], {}
    if isinstance(system, Mapping):
        return [], {name: check_importable(made) for name, made in system.items()}
    several = [system] if isinstance(system, str | type) else list(system)
    classes = {
        made.__name__.lower(): check_importable(made) for made in several if isinstance(made, type)
    }
    return [name for name in several if isinstance(name, str)], classes


def check_importable(made: type) -> type:
    """Return a class that another process can import, or raise what to do about it."""
    if made.__module__ == "__main__" or "<locals>" in made.__qualname__:
        raise CampaignError(
            f"{made.__qualname__}: attempts run in other processes, which import the class: "
            "write it to a file next to the notebook, and import it from there"
        )
    return made


def build_system_environment(classes: Iterable[type]) -> dict[str, str]:
    """Return an environment in which these classes are found, and allowed as systems."""
    environment = build_child_environment()
    for made in classes:
        package = made.__module__.partition(".")[0]
        file = sys.modules[package].__file__
        if file is None:
            raise CampaignError(f"{package}: a package without a file cannot be imported again")
        place = Path(file).parent.parent if Path(file).name == "__init__.py" else Path(file).parent
        for variable, entry, sign in (
            ("PYTHONPATH", str(place), os.pathsep),
            ("CRUCIBLE_PACKAGES", package, ","),
        ):
            entries = [entry, *filter(None, environment.get(variable, "").split(sign))]
            environment[variable] = sign.join(dict.fromkeys(entries))
    return environment


def run_crucible_command(
    arguments: Sequence[str], environment: Mapping[str, str], show: bool
) -> None:
    """Run the command, print its lines as they come, and raise its last one if it refused."""
    command = build_module_command("crucible", *arguments)
    last_line = ""  # the only one that is kept
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            for line in iterate_output_lines(process):
                last_line = line
                if show:
                    print(line, end="")
        # an interrupt reaches the command, which finishes its files
        except BaseException:
            process.send_signal(signal.SIGINT)
            raise
    if process.returncode not in (FINISHED, SOME_FAILED):
        raise CampaignError(last_line.strip() or f"ended {describe_exit(process.returncode)}")


def iterate_output_lines(process: subprocess.Popen[str]) -> Iterator[str]:
    """Yield what a process prints."""
    assert process.stdout is not None
    yield from process.stdout


def as_choice_list(names: Choice) -> list[str] | None:
    """Return the names as a list: conditions and cooperations are always several."""
    return None if names is None else as_list(names)


def as_list(value: object) -> list[Any]:
    """Return one value, or several, as a list."""
    if isinstance(value, Iterable) and not isinstance(value, str):
        return list(value)
    return [value]


def format_override_value(value: object) -> str:
    """Return a value as the command line's grammar has it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str | Path):
        text = str(value).replace("\\", "\\\\").replace("'", "\\'")
        return f"'{text}'"
    if isinstance(value, Mapping):
        return (
            "{"
            + ",".join(f"{key}:{format_override_value(item)}" for key, item in value.items())
            + "}"
        )
    return "[" + ",".join(map(format_override_value, as_list(value))) + "]"


def refuse_unknown_name(name: str, valid: Iterable[str], what: str) -> None:
    """Raise a line that names what is valid unless the name is."""
    names = list(valid)
    if name not in names:
        raise UserError(describe_unknown_name(what, name, names, plural="names"))
