"""`seglake register` for spark-submit, with the same arguments; submit this file."""

import sys

try:
    from seglake.cli.outcome import exit_with
    from seglake.cli.register_command import main
except ModuleNotFoundError as missing:
    sys.stderr.write(f"seglake: {missing}; use the Python that seglake is installed in\n")
    sys.exit(2)

if __name__ == "__main__":
    exit_with(main)
