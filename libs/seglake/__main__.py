"""`python -m seglake`: the command `seglake`."""

from seglake.cli.main import entry_point

if __name__ == "__main__":
    entry_point()
