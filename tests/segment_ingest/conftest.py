"""Spawned processes get sys.path from here, so that they find what they run by its name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
