"""The processes that are measured, as `bench.kafka.sessions` asks for them, except for Java's.

    python -m bench.kafka.jobs seglake ENGINE LOG_DIR TOPIC
    python -m bench.kafka.jobs spark-kafka BOOTSTRAP TOPIC JARS

Spark's Kafka source is used as its documentation shows it. Both get the same Spark: this machine's
cores, and 4 GiB for the driver.
"""

import sys
from collections.abc import Callable
from typing import Literal

import seglake

_MEMORY = "4g"


def main(name: str, *arguments: str) -> None:
    """Do a job for each line of stdin."""
    job = JOBS[name](*arguments)
    for line in sys.stdin:
        job(line.strip())
        sys.stdout.write('{"done": true}\n')
        sys.stdout.flush()


def _seglake(engine: str, log_dir: str, topic: str) -> Callable[[str], None]:
    if engine == "spark":
        # Imported here: the local engine must not wait for PySpark.
        from pyspark import SparkConf, SparkContext

        conf = SparkConf().setMaster("local[*]").set("spark.driver.memory", _MEMORY)
        SparkContext(conf=conf.set("spark.ui.enabled", "false"))
        return lambda folder: _ingest(log_dir, folder, topic, "spark")
    return lambda folder: _ingest(log_dir, folder, topic, "local")


def _ingest(log_dir: str, folder: str, topic: str, engine: Literal["spark", "local"]) -> None:
    summary = seglake.ingest(log_dir, folder, topics=[topic], engine=engine)
    if summary.exit_code:
        raise RuntimeError(summary.to_text())


def _spark_kafka(bootstrap: str, topic: str, jars: str) -> Callable[[str], None]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[*]").config("spark.driver.memory", _MEMORY)
    properties: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.jars": jars,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # As small as the tables are; 200 and 50 by default, which takes longer.
        "spark.sql.shuffle.partitions": "4",
        "spark.databricks.delta.snapshotPartitions": "4",
    }
    spark = builder.config(map=properties).getOrCreate()

    def job(folder: str) -> None:
        source = spark.read.format("kafka").options(
            **{
                "kafka.bootstrap.servers": bootstrap,
                "kafka.isolation.level": "read_committed",
                "subscribe": topic,
                "startingOffsets": "earliest",
                "endingOffsets": "latest",
                "includeHeaders": "true",
            }
        )
        source.load().write.format("delta").save(folder)

    return job


JOBS: dict[str, Callable[..., Callable[[str], None]]] = {
    "seglake": _seglake,
    "spark-kafka": _spark_kafka,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
