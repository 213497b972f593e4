"""Properties of a Spark that lives for a test: small queries, and a JVM that starts quickly."""

from pathlib import Path

from support.class_archive import CLASS_PATH, class_archive, make_class_archive

# Java's second compiler pays for what runs for minutes; these queries run once. And it need not
# prove each of Spark's classes sound.
_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    " -XX:ReservedCodeCacheSize=240m -XX:MetaspaceSize=256m"
    " -Xlog:disable"  # an archive that does not fit is no news
)
# What short queries run takes longer to compile than to run.
_SPARK = (
    ("spark.sql.codegen.factoryMode", "NO_CODEGEN"),
    ("spark.sql.codegen.wholeStage", "false"),
    ("spark.ui.enabled", "false"),
    ("spark.sql.adaptive.enabled", "false"),
    ("spark.sql.shuffle.partitions", "1"),
    ("spark.databricks.delta.snapshotPartitions", "1"),
)
_OF_OUR_SPARK = (
    ("spark.driver.extraClassPath", CLASS_PATH),
    ("spark.executor.extraClassPath", CLASS_PATH),
)


def quick_java() -> str:
    """Return the options of a JVM."""
    archive = class_archive()
    return _JAVA if archive is None else f"{_JAVA} -XX:SharedArchiveFile={archive}"


def quick_spark(*, is_ours: bool = True) -> tuple[tuple[str, str], ...]:
    """Return Spark's properties; it is ours unless it is another than our Python's."""
    java = quick_java() if is_ours else _JAVA
    return (
        *_SPARK,
        *(_OF_OUR_SPARK if is_ours else ()),
        ("spark.driver.extraJavaOptions", java),
        ("spark.executor.extraJavaOptions", java),
    )


def quick_environment(folder: Path, *, is_ours: bool = True) -> dict[str, str]:
    """Return variables that make each Spark of a process quick; its defaults go into a folder."""
    make_quick()
    return {
        "SPARK_CONF_DIR": str(write_defaults(folder, is_ours=is_ours)),
        # A command sets Java options of its own, which replace those of the file.
        "SPARK_SUBMIT_OPTS": quick_java(),
    }


def write_defaults(folder: Path, *, is_ours: bool = True) -> Path:
    """Write them as spark-defaults.conf into a folder, for SPARK_CONF_DIR; return the folder."""
    folder.joinpath("spark-defaults.conf").write_text(_text(quick_spark(is_ours=is_ours)), "utf-8")
    return folder


def make_quick() -> None:
    """Make what lets many JVMs start quickly, which takes as long as three of them."""
    make_class_archive(_JAVA, _text((*_SPARK, *_OF_OUR_SPARK)))


def _text(properties: tuple[tuple[str, str], ...]) -> str:
    return "".join(f"{name} {value}\n" for name, value in properties)
