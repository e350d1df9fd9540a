"""The `crucible` command: every subcommand is reached, and bad input is one line."""

from __future__ import annotations

import argparse
import ast
import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from crucible.subcommands import dispatch_subcommand
from harness.common.command_registry import group_subcommands, list_subcommands
from harness.common.command_running import break_example, format_examples
from harness.common.installation import CONF, install_command
from tests.conftest import ROOT

SUBCOMMANDS = list_subcommands()


def crucible(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "crucible", *words],
        check=False, cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip


def test_the_help_lists_every_subcommand(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch_subcommand(["--help"]) == 0
    printed = capsys.readouterr().out
    for group, subcommands in group_subcommands(SUBCOMMANDS.values()).items():
        assert f"{group}:" in printed
        for subcommand in subcommands:
            assert f"  {subcommand.name} " in printed
            assert subcommand.declaration.purpose in printed


@pytest.mark.parametrize("name", sorted(set(SUBCOMMANDS) - {"run"}))
def test_every_subcommand_has_help_under_its_name(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        dispatch_subcommand([name, "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"usage: crucible {name}")
    assert printed.endswith(format_examples(SUBCOMMANDS[name]) + "\n")


@pytest.mark.thorough
def test_the_help_of_run_ends_with_examples() -> None:
    printed = crucible("run", "--help").stdout
    assert "cooperation: ahead, " in printed
    assert printed.endswith(format_examples(SUBCOMMANDS["run"]) + "\n")


OF_SEVERAL = ("routes", "maps", "metamorphic", "models")
ACTIONS = (
    "models check",
    "models export",
    "routes list",
    "routes check",
    "routes plot",
    "routes generate",
    "maps export",
    "maps generate",
    "maps check",
    "metamorphic list",
    "metamorphic check",
    "metamorphic drives",
    "metamorphic generate",
    "metamorphic climb",
    "metamorphic retrain",
    "metamorphic tables",
    "metamorphic pack",
    "metamorphic report",
    "metamorphic show",
)


@pytest.mark.parametrize("line", [*sorted(set(SUBCOMMANDS) - {"run", *OF_SEVERAL}), *ACTIONS])
def test_every_option_has_help_with_its_default(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsers: list[argparse.ArgumentParser] = []

    def print_help(parser: argparse.ArgumentParser) -> None:
        parsers.append(parser)

    monkeypatch.setattr(argparse.ArgumentParser, "print_help", print_help)
    with pytest.raises(SystemExit):
        dispatch_subcommand([*line.split(), "--help"])
    assert len(parsers) == 1
    for option in parsers[0]._actions:
        assert option.help, option
        takes_value = option.option_strings and option.nargs != 0
        unset = "--space" in option.option_strings  # it narrows nothing where it is not given
        must = option.required or unset or option in alternatives(parsers[0])
        if takes_value and not must:
            assert "default:" in option.help, option
        assert not (option.required and "default:" in option.help), option


def alternatives(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the options of which one must be given."""
    groups = [group for group in parser._mutually_exclusive_groups if group.required]
    return [option for group in groups for option in group._group_actions]


def test_the_help_of_an_action_has_its_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        dispatch_subcommand(["maps", "check", "--help"])
    _, examples = capsys.readouterr().out.split("examples:")
    assert examples.split("\n") == ["", "  crucible maps check Seeded_1 --maps towns", ""]


@pytest.mark.parametrize("name", sorted(SUBCOMMANDS))
def test_examples_fit_a_terminal_and_are_one_command_for_a_shell(name: str) -> None:
    for command in SUBCOMMANDS[name].declaration.examples:
        lines = break_example(command)
        assert all(len(line) <= 80 for line in lines), lines
        joined = "\n".join(lines)
        assert shlex.split(joined.replace("\\\n", "")) == shlex.split(command)


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(SUBCOMMANDS))
def test_examples_use_options_that_there_are(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for line in SUBCOMMANDS[name].declaration.examples:
        start, *words = shlex.split(line.removeprefix('eval "$(').removesuffix(')"'))
        assert (start, words[0]) == ("crucible", name)
        if name == "run":
            composed(words[1:])
            continue
        with pytest.raises(SystemExit):
            dispatch_subcommand([*words[: 1 + (name in OF_SEVERAL)], "--help"])
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", capsys.readouterr().out))
        assert {word for word in words if word.startswith("--")} <= options


def composed(words: list[str]) -> None:
    """Compose a line of `crucible run`, without own configuration files."""
    if "--config-dir" not in words:
        with initialize_config_dir(version_base="1.3", config_dir=str(CONF)):
            compose("config", [word for word in words if "=" in word])


COMPLETE = """
eval "$(crucible completion bash)"
COMP_LINE="$1" COMP_POINT=${#1}
_crucible
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("line", "there", "absent"),
    [
        ("crucible re", {"report", "regress", "replay"}, {"run"}),
        ("crucible ", set(SUBCOMMANDS), {"system=late"}),
        ("crucible run system=id", {"ideal_late", "ideal_single"}, {"late"}),
        *(
            pytest.param(*case, marks=pytest.mark.thorough)
            for case in (
                ("crucible replay runs/x --f", {"--film"}, {"--rerun"}),
                ("crucible serve --", {"--port", "--town", "--maps", "--seed"}, {"--film"}),
                ("crucible run study=demo stu", {"study=recommended"}, {"system=late"}),
            )
        ),
    ],
)
def test_bash_completes(line: str, there: set[str], absent: set[str], tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", COMPLETE, "bash", line],
        check=True, cwd=ROOT, env=command_environment(tmp_path), capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr == ""
    offered = set(done.stdout.split())
    assert there <= offered
    assert not absent & offered


def command_environment(folder: Path) -> dict[str, str]:
    """Return an environment in which `crucible` is this checkout's."""
    script = folder / "crucible"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m crucible "$@"\n')
    script.chmod(0o755)
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}


FISH = "crucible completion fish | source; complete -C $argv[1]"


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish here")
@pytest.mark.parametrize(
    ("line", "there", "absent"),
    [
        ("crucible re", {"report", "regress", "replay"}, {"run"}),
        ("crucible serve --", {"--port", "--town", "--maps", "--seed"}, {"--mp4"}),
        ("crucible run system=id", {"system=ideal_late", "system=ideal_single"}, {"system=late"}),
    ],
)
def test_fish_completes(line: str, there: set[str], absent: set[str], tmp_path: Path) -> None:
    done = subprocess.run(
        ["fish", "-c", FISH, line],
        check=True, cwd=ROOT, env=command_environment(tmp_path), capture_output=True, text=True,
    )  # fmt: skip
    offered = set(done.stdout.split())
    assert there <= offered
    assert not absent & offered


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here")
@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("crucible compl", "crucible completion"),
        ("crucible run system=ideal_la", "crucible run system=ideal_late"),
        ("crucible serve --tow", "crucible serve --town"),
    ],
)
def test_zsh_completes(line: str, completed: str, tmp_path: Path) -> None:
    """As people do: the keys are typed in a terminal."""
    ours, theirs = pty.openpty()
    environment = command_environment(tmp_path) | {"PS1": "% ", "TERM": "xterm"}
    with subprocess.Popen(
        ["zsh", "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, env=environment,
        start_new_session=True,
    ) as shell:  # fmt: skip
        os.write(ours, b"source <(crucible completion zsh); print rea''dy\n")
        wait_for(ours, "ready")
        os.write(ours, f"{line}\t".encode())
        wait_for(ours, completed)
        shell.kill()
    os.close(ours)
    os.close(theirs)


def wait_for(terminal: int, text: str) -> None:
    """Read a terminal until a text has come."""
    printed = ""
    while text not in printed:
        assert select.select([terminal], [], [], 60.0)[0], printed
        printed += os.read(terminal, 4096).decode(errors="replace")


@pytest.mark.thorough
def test_run_composes_as_run_campaign_does() -> None:
    words = ["system=oracle", "routes.only=['0']", "interference=none", "--cfg", "job"]
    there = subprocess.run(
        [sys.executable, "run_campaign.py", *words],
        check=True, cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert crucible("run", *words).stdout == there.stdout
    assert "oracle" in there.stdout


BAD_INPUT: list[tuple[list[str], str]] = [
    (["rnu"], "crucible: unknown subcommand rnu; did you mean run? valid subcommands: run, "),
    (["run", "+sytem=oracle"], "crucible run: configuration: unknown key sytem; did you mean"),
    (["status", "x", "--jsn"], "crucible status: unknown option --jsn; did you mean --json? "),
    (["routes", "chek"], "crucible routes: argument action: invalid choice: 'chek'"),
    (
        ["routes"],
        "crucible routes: one of these is needed: list, check, plot, generate, sets (--help",
    ),
    (["routes", "generate", "--twon", "x"], "crucible routes generate: "),
    (
        ["report", "x", "--otu", "y"],
        "crucible report: unknown option --otu; did you mean --",
    ),
    (
        ["check", "oracle", "--recordng", "y"],
        "crucible check: unknown option --recordng; did",
    ),
    (["train", "--epcohs", "3"], "crucible train: "),
    (
        ["serve", "--twon", "x"],
        "crucible serve: unknown option --twon; did you mean --town?",
    ),
    (["serve", "there"], "crucible serve: unexpected argument there"),
    (["run", "nothing=1"], "crucible run: "),
    (["serve", "--port", "70000"], "crucible serve: --port: 70000: must be a whole number from 0"),
    (["serve", "--seed", "x"], "crucible serve: --seed: x: must be a whole number from 0"),
    (["status", "/nowhere"], "/nowhere"),
    (["tables", "/nowhere"], "/nowhere"),
    (["check", "zzz"], "unknown system zzz; valid systems: "),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("words", "said"), BAD_INPUT)
def test_bad_input_is_one_line(
    words: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    try:
        code: object = dispatch_subcommand(words)
    except SystemExit as ended:
        code = ended.code
    printed = capfd.readouterr()
    assert (code, printed.out) == (2, "")
    assert printed.err.startswith(said)
    assert printed.err.count("\n") == 1


def test_bad_input_ends_the_process_with_code_2() -> None:
    words, said = BAD_INPUT[0]
    done = crucible(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


def test_without_words_it_prints_its_help_and_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch_subcommand([]) == 2
    assert "usage: crucible" in capsys.readouterr().out


@pytest.mark.thorough
def test_a_missing_package_is_named_with_what_brings_it() -> None:
    code = (
        "import sys; sys.modules['hydra'] = None;"
        "from crucible.subcommands import dispatch_subcommand;"
        " sys.exit(dispatch_subcommand(['run']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr == (f"crucible run: hydra is not installed: {install_command('run')}\n")


def test_a_reader_that_stops_reading_is_no_error() -> None:
    command = f"{sys.executable} -m crucible search --help | true"
    for line in (command, command.replace("search --help", "")):
        done = subprocess.run(
            ["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.stderr == ""


def test_the_console_command_is_installed() -> None:
    (script,) = entry_points(group="console_scripts", name="crucible")
    assert script.value == "crucible.commandline:entry"
    assert (Path(sys.executable).parent / "crucible").is_file()


STARTS = [
    "run_campaign.py",
    "crucible/__init__.py",
    "crucible/__main__.py",
    "crucible/commandline.py",
]


@pytest.mark.parametrize("file", STARTS)
def test_what_refuses_an_old_python_is_readable_by_it(file: str) -> None:
    ast.parse((ROOT / file).read_text(), feature_version=(3, 7))


@pytest.mark.parametrize("version", [(3, 9), (3, 13)])
def test_another_python_is_one_line(version: tuple[int, int]) -> None:
    code = (
        f"import sys, runpy; sys.version_info = (*{version}, 0, 'final', 0);"
        "runpy.run_path('run_campaign.py', run_name='__main__')"
    )
    refused([sys.executable, "-c", code], ".".join(map(str, version)))


@pytest.mark.thorough
@pytest.mark.parametrize("version", ["3.9", "3.13"])
@pytest.mark.parametrize("start", [["run_campaign.py"], ["-m", "crucible", "serve"]])
def test_another_python_of_this_machine_is_one_line(version: str, start: list[str]) -> None:
    python = shutil.which(f"python{version}")
    probe = [str(python), "-c", "import sys; print(sys.executable)"]
    probed = python and subprocess.run(probe, check=False, capture_output=True, text=True)
    if not probed or probed.returncode:
        pytest.skip(f"no Python {version} here")
    refused([probed.stdout.strip(), *start], version)


def refused(command: list[str], version: str) -> None:
    """Check that a command names the Python that it is run by, and what to do, in one line."""
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"crucible: Python 3.10 to 3.12 is needed, this is {version} (")
    assert "make PYTHON=" in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_packages_it_is_one_line(tmp_path: Path) -> None:
    """As the Python of a system has none, outside the virtual environment."""
    done = subprocess.run(
        [sys.executable, "-S", "run_campaign.py"],
        check=False, cwd=ROOT, env=os.environ | {"PYTHONPATH": ""}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("crucible run: omegaconf is not installed: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", sorted(set(SUBCOMMANDS) - {"run"}))
def test_no_line_of_a_help_is_wider_than_the_terminal(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All but `crucible run`, whose help is settings with their comments, as their files have them.

    An option and the words that it takes cannot be broken in a usage line.
    """
    monkeypatch.setenv("COLUMNS", "80")
    with suppress(SystemExit):
        dispatch_subcommand([name, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 5
    assert [line for line in lines if len(line) > 80 and len(line.split()) > 2] == []
