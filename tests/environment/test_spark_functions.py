"""Functions that Spark has, by PySpark's own listing."""

import subprocess
import sys

from pyspark.sql import functions

from seglake.environment.spark_functions import has_function


def test_functions_are_those_that_pyspark_exports() -> None:
    assert all(has_function(name.casefold()) for name in functions.__all__)
    assert has_function("get_json_object")
    assert not has_function("no_such_function")


def test_pyspark_is_not_imported_for_it() -> None:
    code = (
        "import sys; from seglake.environment.spark_functions import has_function;"
        "print(has_function('size'), 'pyspark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
