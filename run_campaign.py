"""The same as `crucible run`, without an installation."""

from crucible.run import main

if __name__ == "__main__":
    main()
