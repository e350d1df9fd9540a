"""The same as `crucible run`, without an installation."""

from crucible.run import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
