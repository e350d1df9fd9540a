"""Why one word of a command line, or one line of a YAML file, cannot be read: in plain words.

Hydra and PyYAML answer with names of their grammars. Here the word is looked at again, and the
answer names the character or the bracket that is wrong and what to write instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

PAIRS = {"[": "]", "{": "}", "(": ")"}
"""Brackets that Hydra's grammar knows."""
KEPT_OUT_OF_QUOTES = "'\"$`\\!"
"""Characters for which no quoted form is suggested: shells read them even within quotes."""


def explain_unread_override(word: str, overrides: Sequence[str]) -> str:
    """Return why Hydra cannot read one word of a command line.

    Args:
        word: the word that was refused, such as `out=münchen`
        overrides: all words in their order; the shell may have split a list at its spaces

    Returns:
        One line with what to write instead.
    """
    name, equals, value = word.partition("=")
    if not equals or not name.strip("+~"):
        lacking = "a name is missing before =; " if equals else ""
        return f"{word}: {lacking}a setting is written name=value"
    if joined := join_split_list(word, overrides):
        return f"{joined}: the shell splits a list at its spaces; write {joined.replace(' ', '')}"
    if wrong := find_unpaired_bracket(value):
        return f"{word}: {wrong}"
    if value.startswith("{") and ":" not in value:
        return f"{word}: a list has square brackets; write {name}=[{value.strip('{}')}]"
    odd = " ".join(character for character in dict.fromkeys(value) if not is_plain(character))
    return f"{word}: {odd or value} needs quotes; {suggest_quotes(name, value)}"


def suggest_quotes(name: str, value: str) -> str:
    """Return how a value is written that is text and nothing else."""
    if any(character in value for character in KEPT_OUT_OF_QUOTES):
        return f"put the value in a file of --config-dir, or in quotes that reach {name}="
    return f"write \"{name}='{value}'\""


def join_split_list(word: str, overrides: Sequence[str]) -> str:
    """Return the list that a shell has split into words; nothing if the word is none of them."""
    if word not in overrides or not find_unpaired_bracket(word.partition("=")[2]):
        return ""
    start = list(overrides).index(word)
    joined = word
    for following in overrides[start + 1 :]:
        joined = f"{joined} {following}"
        if not find_unpaired_bracket(joined.partition("=")[2]):
            return joined
        if "=" in following:
            return ""
    return ""


def find_unpaired_bracket(value: str) -> str:
    """Return which bracket of a value lacks the other one; nothing if all are in pairs."""
    opened: list[str] = []
    for character in value:
        if character in PAIRS:
            opened.append(character)
        elif character in PAIRS.values() and (not opened or PAIRS[opened.pop()] != character):
            return f"the bracket {character} was not opened"
    return f"the bracket {opened[-1]} is not closed" if opened else ""


def is_plain(character: str) -> bool:
    """Return whether Hydra reads a character within a word without quotes."""
    if character.isascii() and character.isalnum():
        return True
    try:
        OverridesParser.create().parse_override(f"name=a{character}a")
    except HydraException:
        return False
    return True


def explain_unread_yaml(problem: yaml.YAMLError) -> str:
    """Return which line of a file is not YAML, and why.

    Args:
        problem: what PyYAML raised; only a marked error has a place
    """
    mark = getattr(problem, "problem_mark", None)
    if mark is None:
        return " ".join(str(problem).split())
    text = str(getattr(problem, "problem", None) or "")
    opened = getattr(problem, "context_mark", None)
    if "'\\t'" in text:
        why = "a tab; YAML is indented with spaces"
    elif "flow sequence" in str(getattr(problem, "context", "")) and opened is not None:
        mark, why = opened, "the bracket [ is not closed"
    elif "mapping values are not allowed" in text:
        why = "a second colon in one line, or a wrong indentation; put text with a colon in quotes"
    else:
        why = f"not YAML: {text}"
    return f"{mark.name}: line {mark.line + 1}, column {mark.column + 1}: {why}"
