"""The page on audits shows how to run the proof without seglake: it does as shown."""

import contextlib
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from seglake.cli.main import main
from support.audits import falsified
from support.lakes import ingested

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROOT = Path(__file__).parents[2]
_SAMPLE = _ROOT / "samples" / "broker-0"
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    ingested(_SAMPLE, tmp_path / "lake")
    return tmp_path / "lake"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _printed(*arguments: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(arguments) == 0
    return out.getvalue()


# Any: what an engine answers.
def _run(example: str, lake: Path, folder: Path, **names: Any) -> Any:
    """Run an example of the page: the commands in its first lines, then its Python."""
    commands: list[str] = []
    code: list[str] = []
    for line in example.splitlines():
        (commands if line.startswith("# seglake ") else code).append(line)
    for command in commands:
        words, _, file = command.removeprefix("# seglake ").partition(" > ")
        (folder / file).write_text(_printed(*words.replace("build/demo", str(lake)).split()))
    exec("\n".join(code), names)
    return names["answer"]


def _examples() -> list[str]:
    return _PYTHON.findall((_ROOT / "docs" / "audit.md").read_text("utf-8"))


def test_the_proof_runs_in_duckdb_as_shown(
    made: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(_examples()[0], made, here)
    assert capsys.readouterr().out == "[]\n"
    falsified(made, "records", lambda rows: rows[1:])
    _run(_examples()[0], made, here)
    said = capsys.readouterr().out
    assert "row_count" in said
    assert "equation" in said


@pytest.mark.spark
@pytest.mark.matrix
@pytest.mark.timeout(900)
def test_the_proof_runs_in_spark_as_shown(
    made: Path, here: Path, spark_session: "SparkSession"
) -> None:
    answer = _run(_examples()[1], made, here, spark=spark_session)
    assert answer.columns[0] == "problem"
