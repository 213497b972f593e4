"""Which of several workers takes which tests: while some wait for servers, others compute.

With more workers than cores, the last ones, as many as there are cores, take tests that start
nothing as long as there are any, and are nice: they get what the others leave of the processors.
"""

import os
import sys
from typing import TYPE_CHECKING

from xdist.scheduler import LoadGroupScheduling

from support.spread import starts_something

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

# Those that this process may use, before a worker keeps to one of them.
CORES = (
    sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else [*range(os.cpu_count() or 1)]
)
NICENESS = 5


def only_computes(worker: str, *, worker_count: int) -> bool:
    """Tell if a worker leaves tests that start something to others, of which there must be some."""
    from_the_end = worker_count - int(worker.removeprefix("gw"))
    return from_the_end <= len(CORES) < worker_count


class FilledScheduling(LoadGroupScheduling):
    """Groups in the order of `arranged`; workers that only compute pass over what waits."""

    def _assign_work_unit(self, node: "WorkerController") -> None:
        if only_computes(node.gateway.id, worker_count=self.numnodes):
            quick = next((name for name in self.workqueue if not starts_something(name)), None)
            if quick is not None:
                self.workqueue.move_to_end(quick, last=False)
        super()._assign_work_unit(node)

    def mark_test_complete(
        self, node: "WorkerController", item_index: int, duration: float = 0
    ) -> None:
        """Forget a group that is done: else each test counts through all that were before it."""
        super().mark_test_complete(node, item_index, duration)
        groups = self.assigned_work[node]
        group = self._split_scope(self.registered_collections[node][item_index])
        if all(groups[group].values()):
            del groups[group]
