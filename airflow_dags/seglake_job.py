"""The operator that runs a job of seglake through spark-submit, and ends as its exit code says."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from seglake_outcome import ExitCode, Outcome, summary_of

# Any: Airflow's context, and values of JSON.
Context = Any


class SeglakeJob(SparkSubmitOperator):
    """`SparkSubmitOperator`, but the exit code decides what Airflow does next.

    0 and 3 are done: the outcome is the task's XCom and goes with the asset's event. 2 fails
    without a retry. All else fails as it does there, with the retries that are left.

    Args:
        venv: seglake's virtual environment on the worker, "" for what PATH and SPARK_HOME say.
        fails_on_look: 3 fails this task, without a retry; else the task is done.
        options: those of SparkSubmitOperator; `application_args` may be a function, and there is
            no `env_vars` beside `venv`.
    """

    def __init__(self, *, venv: str = "", fails_on_look: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.venv = venv
        self.fails_on_look = fails_on_look
        self._summary: Mapping[str, Any] = {}

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the job and return its outcome.

        Raises:
            AirflowFailException: a wrong call, or 3 where that fails the task.
        """
        if self.venv:
            self.env_vars = environment_of(Path(self.venv))
        exit_code = ExitCode.DONE
        try:
            super().execute(context)
        except AirflowException as error:
            exit_code = self._exit_code_behind(error)
        outcome = Outcome(exit_code, self._summary)
        for line in outcome.look_at():
            self.log.warning("A person should look: %s", line)
        if exit_code is ExitCode.LOOK and self.fails_on_look:
            raise AirflowFailException(
                "exit code 3: done, but a person should look at what the log above says. It will"
                " not get better by trying again."
            )
        for asset in self.outlets:
            context["outlet_events"][asset].extra = outcome.to_mapping()
        return outcome.to_mapping()

    def _exit_code_behind(self, error: AirflowException) -> ExitCode:
        """The job's exit code where it needs no retry; else the error goes on its way.

        Only in client mode is the exit code of spark-submit the job's: a cluster manager says no
        more than that the driver failed.
        """
        process = getattr(self._hook, "_submit_sp", None)
        code = None if process is None else process.returncode
        if code == ExitCode.LOOK:
            return ExitCode.LOOK
        if code == ExitCode.WRONG_CALL:
            raise AirflowFailException(
                "exit code 2: a wrong call or setting, nothing was touched; the end of the log"
                " above says what. It will not get better by trying again."
            ) from error
        raise error

    def _get_hook(self) -> Any:
        """The hook, with an ear on what the job prints: it gives that to its log alone."""
        hook = super()._get_hook()
        log_lines = hook._process_spark_submit_log
        hook._process_spark_submit_log = lambda lines: log_lines(self._listening(lines))
        return hook

    def _listening(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self._summary = summary_of(line.strip()) or self._summary
            yield line


def environment_of(venv: Path) -> dict[str, str]:
    """What spark-submit needs so that it, the driver and local tasks run in an environment.

    Raises:
        AirflowFailException: there is no Spark in it.
    """
    homes = sorted(venv.glob("lib/python3*/site-packages/pyspark"))
    if not homes:
        raise AirflowFailException(
            f"{venv} has no pyspark in it: `venv` in the lakes' file must name the virtual"
            " environment that seglake is installed in, as this worker sees it."
        )
    python = str(venv / "bin" / "python")
    path = os.pathsep.join([str(venv / "bin"), os.environ.get("PATH", os.defpath)])
    return {
        "PATH": path,
        "SPARK_HOME": str(homes[-1]),
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": python,
    }
