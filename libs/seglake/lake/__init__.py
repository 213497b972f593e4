"""The lake: its tables, the files in them, and how they are committed; nothing of Kafka's bytes.

Import by module, so that a process loads only what it uses::

    storage         lists and opens files
    engine          runs tasks on this machine or on Spark
    tables          every table's columns
    parquet_files   writes one data file
    parquet_rows    reads columns of data files
    delta_tables    creates, opens and reads the tables
    delta_commit    commits a wave to all tables as one, and recovers
    snapshots       which files and generations the tables have at one moment
    errors          everything that is raised

Only `delta_tables` and `delta_commit` load deltalake, which has no place in a worker.
"""
