"""`python -m gainful`: the command line, where the command itself is not on the path."""

from gainful.cli import main

if __name__ == "__main__":
    main()
