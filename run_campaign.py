"""The same as `crucible run`, without an installation."""

from crucible.commandline import run_campaign as main

__all__ = ["main"]

if __name__ == "__main__":
    main()
