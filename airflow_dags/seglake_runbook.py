"""The runbook: each DAG's documentation shows it, and the log of a failed task names it."""

import logging
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from seglake_lakes import Lake

_PAGE = Path(__file__).with_name("seglake_runbook.md")
_LOG = logging.getLogger(__name__)

# Any: Airflow's context.
Context = Any


def page(lake: Lake) -> str:
    """Return the documentation of a lake's DAGs, which Airflow shows as Markdown."""
    facts = (
        f"lake `{lake.lake}` from {', '.join(f'`{source}`' for source in lake.sources)}; "
        f"pool `{lake.pool_name}`, asset `{lake.identity}` ({lake.asset_uri}), "
        f"connection `{lake.connection}`"
    )
    return f"{facts}\n\n{_PAGE.read_text('utf-8')}"


def failure_callback(lake: Lake) -> Callable[[Context], None]:
    """Return a callback for tasks that failed and have no retries left."""

    def report(context: Context) -> None:
        instance = context["task_instance"]
        reason = str(context.get("exception")).partition("\n")[0].rstrip(".")
        _LOG.error(
            "%s of %s, lake %s: %s. Nothing half-done is visible in the tables, and every task may"
            " be run again. What each red task means, and what to do, is in the documentation of"
            " the DAG %s.",
            instance.task_id,
            instance.run_id,
            lake.lake,
            reason,
            instance.dag_id,
        )
        if lake.on_failure:
            module, _, function = lake.on_failure.rpartition(".")
            getattr(import_module(module), function)(context)

    return report
