"""`seglake audit` for spark-submit, with the same arguments; submit this file."""

import sys

try:
    from seglake.cli.audit_command import main
    from seglake.cli.outcome import exit_with
except ModuleNotFoundError as missing:
    sys.stderr.write(f"seglake: {missing}; use the Python that seglake is installed in\n")
    sys.exit(2)

if __name__ == "__main__":
    exit_with(main)
