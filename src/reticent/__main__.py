"""``python -m reticent``: the command line, where its program is not on the PATH."""

from reticent.cli import main

if __name__ == "__main__":
    main()
