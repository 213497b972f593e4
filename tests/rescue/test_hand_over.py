"""What docs/rescue.md shows of the hand-over opens a copied lake where no seglake is."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl

from seglake.pipelines.lake_query.views import VIEWS
from support.lakes import ingested, read_table

_ROOT = Path(__file__).parents[2]
_SECTION = re.compile(r"^## Hand the lake over\n.+?^```bash\n(.+?)^```$", re.MULTILINE | re.DOTALL)


def test_copied_lake_opens_in_duckdb_polars_and_by_spark_s_sql(tmp_path: Path) -> None:
    ingested(_ROOT / "samples" / "broker-0", tmp_path / "lake")
    shutil.move(tmp_path / "lake", tmp_path / "share")
    found = _SECTION.search((_ROOT / "docs" / "rescue.md").read_text("utf-8"))
    assert found is not None
    commands = found[1].replace("/mnt/share/lake", str(tmp_path / "share"))
    seglake = f"{shlex.quote(sys.executable)} -m seglake"
    shown = re.sub("^seglake", seglake, commands, flags=re.MULTILINE)
    subprocess.run(["sh", "-ec", shown], cwd=tmp_path, check=True, capture_output=True)
    records = read_table(tmp_path / "share", "records")
    with duckdb.connect() as own:
        own.execute((tmp_path / "lake.sql").read_text("utf-8"))
        assert own.execute("SELECT count(*) FROM current_records").fetchall() == [(len(records),)]
        (quarantined,) = own.execute("SELECT sum(quarantined) FROM completeness").fetchall()[0]
    completeness = pl.read_parquet(tmp_path / "completeness.parquet")
    assert completeness["records"].sum() == len(records)
    assert completeness["quarantined"].sum() == quarantined == 22
    printed = (tmp_path / "spark.sql").read_text("utf-8")
    assert all(f"VIEW {view}\n" in printed for view in VIEWS)
