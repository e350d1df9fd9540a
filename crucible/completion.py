"""`crucible completion bash`: a script that completes subcommands, options and settings."""

from __future__ import annotations

from pathlib import Path

SCRIPT = r"""# Completion of `crucible`; zsh: after `autoload -U bashcompinit; bashcompinit`.
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


def main(arguments: list[str], program: str) -> int:
    """Print the script."""
    from crucible.subcommands import SUBCOMMANDS  # noqa: PLC0415 - which imports this module
    from harness.installation import CONF  # noqa: PLC0415 - only here
    from harness.options import Parser  # noqa: PLC0415

    parser = Parser(prog=program, description=__doc__)
    parser.add_argument("shell", choices=["bash"], help="zsh takes the same script")
    parser.parse_args(arguments)
    script = SCRIPT.replace("@SUBCOMMANDS@", " ".join(SUBCOMMANDS))
    print(script.replace("@SETTINGS@", " ".join(settings(CONF))), end="")
    return 0


def settings(conf: Path) -> list[str]:
    """Return each `group=choice` of the configuration."""
    return sorted(f"{file.parent.name}={file.stem}" for file in conf.glob("*/*.yaml"))
