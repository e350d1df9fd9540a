"""Runs a subcommand: whatever the user can put right is one line and an exit code."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module

from harness.common.command_registry import Subcommand, find_subcommand, list_subcommands
from harness.common.errors import AttemptError, UserError
from harness.common.installation import format_missing_package
from harness.common.options import OneLineParser
from harness.common.suggestions import describe_unknown_name
from harness.common.terminal_lines import print_problem

BAD_INPUT, NO_GROUND, INTERRUPTED = 2, 3, 130
HELP = {"-h", "--help"}
WORD = r"""(?:[^\s'"]|'[^']*'|"[^"]*")+"""
OPTION_OR_WORD = re.compile(rf"--[\w-]+ +(?!-){WORD}|{WORD}")
"""An option with its first value, or a word of a command line, with quoted parts as they stand."""
HOUSES = {"harness", "agents", "analysis", "studies", "crucible"}


def run_package_command(
    package: str,
    arguments: Sequence[str] | None,
    program: str,
    *,
    studies: tuple[str, ...] = (),
) -> int:
    """Run a subcommand of one package, as `python -m analysis` does; None: the process's words.

    Args:
        package: the folder that its subcommands are in.
        arguments: the subcommand's name and its words.
        program: how the command line begins.
        studies: folders of studies whose subcommands belong to it too.
    """
    packages = (package, *studies)
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in HELP:
        print(f"usage: {program} SUBCOMMAND ...\n\n{', '.join(list_subcommands(packages))}")
        return 0
    subcommand = find_subcommand(name, packages)
    if subcommand is None:
        print_problem(f"{program}: {describe_unknown_subcommand(name, *packages)}")
        return BAD_INPUT
    try:
        code = run_subcommand(subcommand, rest, f"{program} {name}")
        sys.stdout.flush()
    except BrokenPipeError:  # nothing reads on, as under `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def describe_unknown_subcommand(name: str, *packages: str) -> str:
    """Return what is wrong with a name, and which names there are."""
    there = list_subcommands(packages) if packages else list_subcommands()
    return describe_unknown_name("subcommand", name, there)


def run_subcommand(subcommand: Subcommand, arguments: Sequence[str], program: str) -> int:
    """Import the module of a subcommand, run it, and return its exit code.

    Args:
        subcommand: what is run.
        arguments: the words behind its name.
        program: how the command line names it, such as `crucible report`.
    """
    try:
        return _run_module(subcommand, list(arguments), program)
    # help ends with examples
    except SystemExit as ending:
        if ending.code == 0 and HELP.intersection(arguments):
            print(format_examples(subcommand, arguments[0]), flush=True)
        raise
    # a package of an extra is missing; one of ours is a bug and keeps its traceback
    except ModuleNotFoundError as problem:
        missing = problem.name or ""
        if missing.partition(".")[0] in HOUSES:
            raise
        why, code = format_missing_package(missing, subcommand.declaration.extra), BAD_INPUT
        why = f"{program}: {why}"
    # every other expected problem is one line and an exit code
    except UserError as problem:
        why, code = str(problem), BAD_INPUT
    except AttemptError as problem:
        why, code = str(problem), NO_GROUND
    # the caller handles it: the reader of the output is gone
    except BrokenPipeError:
        raise
    except OSError as problem:
        where = problem.filename or subcommand.name
        why, code = f"{where}: {problem.strerror or problem}", BAD_INPUT
    # a command that can be resumed says so in the exception
    except KeyboardInterrupt as problem:
        why = f"{program}: interrupted; {str(problem) or 'files written so far are complete'}"
        code = INTERRUPTED
    print_problem(why)
    return code


def _run_module(subcommand: Subcommand, arguments: list[str], program: str) -> int:
    """Parse the words as the module declares them, and call what it names."""
    module = import_module(subcommand.module)
    if hasattr(module, "main"):  # it parses for itself
        return int(module.main(arguments, program))
    purpose = subcommand.declaration.purpose
    parser = OneLineParser(prog=program, description=f"{purpose[0].upper()}{purpose[1:]}.")
    module.add_arguments(parser)
    # settings and options of a search may stand in any order
    arrange = getattr(module, "arrange_arguments", list)
    options = parser.parse_args(arrange(arguments))
    code = int(options.run(options) or 0)
    sys.stdout.flush()
    return code


def format_examples(subcommand: Subcommand, action: str = "") -> str:
    """Return the examples of a subcommand, or of one of its actions, as its help prints them."""
    examples = subcommand.declaration.examples
    start = f"crucible {subcommand.name} {action} "
    of_action = [line for line in examples if line.startswith(start)]
    broken = (broken for line in of_action or examples for broken in break_example(line))
    return "\n".join(["", "examples:", *broken])


def break_example(command: str, width: int = 80) -> list[str]:
    """Return a command in lines that a terminal shows whole and a shell reads as one command."""
    lines = [" "]
    for word in OPTION_OR_WORD.findall(command):
        # two columns are left for the backslash
        if len(lines[-1]) + 1 + len(word) > width - 2 and lines[-1].strip():
            lines[-1] += " \\"
            lines.append(" " * 5)
        lines[-1] += f" {word}"
    return lines
