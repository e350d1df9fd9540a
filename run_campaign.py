"""The same as `crucible run`, without an installation."""

from crucible.commandline import start_run_subcommand as main

__all__ = ["main"]

if __name__ == "__main__":
    main()
