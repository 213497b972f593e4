"""What all tests share: one Spark session, lakes that are made once, and how work is spread.

With several workers (`-n`), tests that need the same dear thing run in one of them: Spark, a
server, a lake that several look at (`support.cases`).
"""

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from support.cases import make_cases_for
from support.failures import OneScreen
from support.quick_spark import quick_environment, quick_spark
from support.spread import arranged, mark_further_cases, started_for
from support.time_spent import TimeSpent
from support.walk_tables import WalkTables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from seglake.task_engine.engine import Engine
    from support.conversions import Conversions

_LONGEST_NAME = 200
_CORES = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--time-spent", action="store_true", help="say where the time went")


def pytest_configure(config: pytest.Config) -> None:
    os.environ.pop("CI", None)  # where it is set, pytest works out differences whole, for minutes
    # A shell's background jobs ignore Ctrl-C, and so would all programs that tests interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    make_cases_for(config.getoption("markexpr"))
    config.pluginmanager.register(OneScreen())
    config.pluginmanager.register(WalkTables())
    # No power fails here, and waiting for the disk is a good part of a run. Whether files are
    # synced is for the tests of `storage` to see.
    pytest.MonkeyPatch().setattr(os, "fsync", lambda descriptor: None)
    pytest.MonkeyPatch().setattr(os, "posix_fadvise", lambda *_: None, raising=False)
    # The same examples each time; and a busy machine proves nothing.
    hypothesis.settings.register_profile("tests", derandomize=True, database=None, deadline=None)
    hypothesis.settings.load_profile("tests")
    if config.getoption("--time-spent"):
        time_spent = TimeSpent()
        time_spent.install()
        config.pluginmanager.register(time_spent)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Give a long value a short name: each report of a test carries it."""
    if isinstance(val, str | bytes) and len(val) > _LONGEST_NAME:
        return f"{argname} of {len(val)}"
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Pause the garbage collector while tests are found, and never let it visit them later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep together what shares something, and leave cases that tell little to `test-all`."""
    mark_further_cases(items)
    items[:] = arranged(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Keep each of several workers to a core of its own, unless a test starts what needs more.

    Else delta-rs' threads wake each other across cores, which is a third of a conversion.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None or sys.platform != "linux":
        return
    own = _CORES[int(worker.removeprefix("gw")) % len(_CORES)]
    wanted = {own} if started_for(item) is None else {*_CORES}
    if os.sched_getaffinity(0) != wanted:
        for thread in Path("/proc/self/task").iterdir():
            with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
                os.sched_setaffinity(int(thread.name), wanted)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Where a log dir is made and made again."""
    return tmp_path / "data"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Where a lake may be made."""
    return tmp_path / "lake"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Three small logs of two topics."""
    # Imported here: the codec's tests make none.
    from support.made_logs import make_log_dir
    from support.three_logs import EDGES, VALUE_BYTES

    return make_log_dir(tmp_path / "data", EDGES, value_bytes=VALUE_BYTES)


@pytest.fixture(scope="session")
def conversions(tmp_path_factory: pytest.TempPathFactory) -> "Conversions":
    """Lakes of real disks, to be looked at and not to be changed."""
    # Imported here: the codec's tests convert nothing.
    from support.conversions import Conversions

    return Conversions(tmp_path_factory.mktemp("conversions"))


@pytest.fixture(autouse=True)
def _quick_spark(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each Spark that a test starts on its own a quick one, unless it says otherwise."""
    started = started_for(request.node)
    if started not in (None, "spark", "browser", "image"):
        folder = request.getfixturevalue("tmp_path_factory").mktemp("spark-conf")
        for name, value in quick_environment(folder, is_ours=started != "versions").items():
            monkeypatch.setenv(name, value)


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> "Iterator[Engine]":
    """Each engine in turn; Spark's session is the one that all tests share."""
    from seglake.task_engine.engine import LocalEngine, SparkEngine

    if request.param == "spark":
        yield SparkEngine(request.getfixturevalue("spark_session").sparkContext)
        return
    with LocalEngine(1) as local:
        yield local


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """Two threads, a task may fail three times, reads Delta; its workers find what we find."""
    # Imported here: most tests start no JVM, of which a process has one with JARs set at its start.
    from seglake.environment.spark_session import delta_session
    from seglake.settings.settings import SparkSettings

    settings = SparkSettings(
        master="local[2,4]",
        properties=(
            *quick_spark(),
            ("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse"))),
        ),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        with delta_session(settings, application="tests", verbosity=0) as session:
            yield session
