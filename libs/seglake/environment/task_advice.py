"""Remedies for cluster workers that cannot run tasks, chosen by Spark's error."""

import re

_PACK = "`make pack` makes one to ship; see docs/cluster.md"
_ADVICE = {
    r"ModuleNotFoundError: ": "The Python of the workers has no seglake, or not all that it needs:"
    f" ship an environment that has ({_PACK}), or let PYSPARK_PYTHON name one on the workers.",
    r"Can't get attribute ": "The workers have another version of seglake than this process:"
    f" install the same, or ship it again ({_PACK}).",
    r"Cannot run program ": "PYSPARK_PYTHON must name a Python that every worker has; for a packed"
    " environment that is ./environment/bin/python, with"
    " spark.archives=build/seglake-env.tar.gz#environment.",
    r"PYTHON_VERSION_MISMATCH": "Pack the environment with the version of Python that runs this"
    " command, or run the command with that of the workers.",
    r"SparkContext (has been|was) shut ?down|No active SparkContext": "The cluster has ended the"
    " application: the page of its master says why, or the logs of the executors. It is safe to"
    " run again.",
}


def advice_on(reason: str) -> str | None:
    """Return a remedy of one or two sentences; None if the error needs no explanation."""
    return next((text for found, text in _ADVICE.items() if re.search(found, reason)), None)
