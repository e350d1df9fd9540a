"""`crucible completion SHELL`: prints a script that completes subcommands, options and settings."""

from __future__ import annotations

from pathlib import Path

from harness.common.command_registry import CommandDeclaration

COMMAND = CommandDeclaration(
    group="Shell",
    rank=10,
    purpose="print a script for bash, zsh or fish that completes command lines",
    extra="run",
    examples=(
        'eval "$(crucible completion bash)"',
        "crucible completion bash > ~/.local/share/bash-completion/completions/crucible",
        "crucible completion fish > ~/.config/fish/completions/crucible.fish",
    ),
)


BASH = r"""# Completion of `crucible` in bash.
_crucible() {
  local line="${COMP_LINE:0:COMP_POINT}" words word last
  local subcommands="@SUBCOMMANDS@"
  local settings="@SETTINGS@"
  last="${line##* }"
  read -ra words <<< "$line"
  COMPREPLY=()
  if [ "${#words[@]}" -lt 2 ] || { [ "${#words[@]}" = 2 ] && [ -n "$last" ]; }; then
    COMPREPLY=($(compgen -W "$subcommands --help --version" -- "$last"))
    return
  fi
  case "$last" in
    -*)
      word="_crucible_options_${words[1]}"
      if [ -z "${!word+set}" ]; then
        printf -v "$word" '%s' "$("${words[0]}" "${words[1]}" --help 2> /dev/null |
          grep -oE -- '(^|[^[:alnum:]-])--[a-z][a-z0-9_-]*' | grep -oE -- '--.*' |
          sort -u | tr '\n' ' ')"
      fi
      COMPREPLY=($(compgen -W "${!word}" -- "$last"))
      ;;
    *)
      [ "${words[1]}" = run ] && COMPREPLY=($(compgen -W "$settings" -- "$last"))
      ;;
  esac
  # bash takes what follows `=` as a word of its own.
  if [[ "$last" == *=* && "$COMP_WORDBREAKS" == *=* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${last%"${last##*=}"}"}")
  fi
}
complete -o default -F _crucible crucible
"""
ZSH = r"""# Completion of `crucible` in zsh.
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
_crucible() {
  local -a subcommands settings options
  subcommands=(@SUBCOMMANDS@ --help --version)
  settings=(@SETTINGS@)
  if (( CURRENT == 2 )); then
    compadd -- $subcommands
  elif [[ $PREFIX == -* ]]; then
    options=(${(f)"$(${words[1]} ${words[2]} --help 2> /dev/null |
      grep -oE -- '(^|[^[:alnum:]-])--[a-z][a-z0-9_-]*' | grep -oE -- '--.*' | sort -u)"})
    compadd -- $options
  elif [[ ${words[2]} == run ]]; then
    compadd -- $settings
  else
    _files
  fi
}
compdef _crucible crucible
"""
FISH = r"""# Completion of `crucible` in fish.
complete -c crucible -f -n __fish_use_subcommand -a "@SUBCOMMANDS@ --help --version"
complete -c crucible -f -n "__fish_seen_subcommand_from run" -a "@SETTINGS@"
function __crucible_options
  set -l words (commandline -opc)
  $words[1] $words[2] --help 2> /dev/null |
    string match -ra -- '(?<![\w-])--[a-z][a-z0-9_-]*' | sort -u
end
complete -c crucible -n "not __fish_use_subcommand; and string match -q -- '-*' (commandline -ct)" \
  -a "(__crucible_options)"
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def main(arguments: list[str], program: str) -> int:
    """Print the script."""
    from harness.common.command_registry import list_subcommands  # noqa: PLC0415 - only here
    from harness.common.installation import CONF  # noqa: PLC0415 - only here
    from harness.common.options import OneLineParser  # noqa: PLC0415

    parser = OneLineParser(prog=program, description=__doc__)
    parser.add_argument("shell", choices=SCRIPTS, help="the shell that reads the script")
    shell = parser.parse_args(arguments).shell
    script = SCRIPTS[shell].replace("@SUBCOMMANDS@", " ".join(list_subcommands()))
    print(script.replace("@SETTINGS@", " ".join(list_config_choices(CONF))), end="")
    return 0


def list_config_choices(conf: Path) -> list[str]:
    """Return each `group=choice` of the configuration."""
    return sorted(f"{file.parent.name}={file.stem}" for file in conf.glob("*/*.yaml"))
