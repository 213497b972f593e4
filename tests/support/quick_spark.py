"""Properties of a Spark that lives for a test: small queries, and a JVM that starts quickly."""

from pathlib import Path

# Java's second compiler pays for what runs for minutes; these queries run once. And it need not
# prove each of Spark's classes sound.
QUICK_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
# What short queries run takes longer to compile than to run.
QUICK_SPARK = (
    ("spark.sql.codegen.factoryMode", "NO_CODEGEN"),
    ("spark.sql.codegen.wholeStage", "false"),
    ("spark.ui.enabled", "false"),
    ("spark.sql.adaptive.enabled", "false"),
    ("spark.sql.shuffle.partitions", "1"),
    ("spark.databricks.delta.snapshotPartitions", "1"),
    ("spark.driver.extraJavaOptions", QUICK_JAVA),
    ("spark.executor.extraJavaOptions", QUICK_JAVA),
)


def write_defaults(folder: Path) -> Path:
    """Write them as spark-defaults.conf into a folder, for SPARK_CONF_DIR; return the folder."""
    lines = "".join(f"{name} {value}\n" for name, value in QUICK_SPARK)
    (folder / "spark-defaults.conf").write_text(lines, "utf-8")
    return folder
