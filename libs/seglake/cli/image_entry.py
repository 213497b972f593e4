"""Entry point of the image: makes a writable folder, then becomes the requested program.

The image runs as any user and with a read-only root, so files written at run time go to one new
temporary folder. The program is a command of seglake, any other program of the image, or `driver`
or `executor`: Spark on Kubernetes starts its containers with these.

Source of the arguments and variables of both: apache/spark, resource-managers/kubernetes,
DriverCommandFeatureStep.scala, BasicDriverFeatureStep.scala and BasicExecutorFeatureStep.scala.
"""

import os
import pwd
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path

from seglake.cli.main import NAMES
from seglake.errors import ExitCode
from seglake.near_names import did_you_mean

KERNELS_VARIABLE = "SEGLAKE_KERNELS"
"""Name of the variable with the image's folder of compiled kernels, laid out as numba's cache."""

USER_NAME = "seglake"
"""Name for a user without one: Hadoop refuses users without a name."""

_NAME_GIVER = "libnss_wrapper.so"
_EXECUTOR_CLASS = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
# Options of the executor class, with the variables in which Kubernetes passes their values.
_EXECUTOR_OPTIONS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
_JAVA_OPTION = re.compile(r"SPARK_JAVA_OPT_(\d+)")


def main(arguments: Sequence[str]) -> int:
    """Replace this process by the requested program.

    Args:
        arguments: the arguments of the container.

    Returns:
        An exit code if there is no such program or no writable folder; otherwise this does not
        return.
    """
    environment = dict(os.environ)
    try:
        provide_writable(environment)
        command = command_of(arguments, environment)
    except KeyError as missing:
        sys.stderr.write(f"seglake: Kubernetes did not set {missing.args[0]}\n")
        return ExitCode.WRONG_CALL
    except OSError as error:
        sys.stderr.write(
            f"seglake: there is no folder for temporary files ({error}): give the container a"
            " writable one, such as --tmpfs /tmp or an emptyDir\n"
        )
        return ExitCode.FAILED
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        sys.stderr.write(
            f"seglake: {command[0]} is not a command ({', '.join(NAMES)}), nor a program of the"
            f" image: {error.strerror}{did_you_mean(command[0], NAMES)}\n"
        )
        return ExitCode.WRONG_CALL


def command_of(arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return the command line that this process becomes.

    Args:
        arguments: the arguments of the container.
        environment: the container's variables, some of which have the folders of Spark and Java.

    Raises:
        KeyError: Kubernetes did not set a variable that a driver or an executor needs.
    """
    match list(arguments):
        case ["driver", *rest]:
            return _driver(rest, environment)
        case ["executor", *_]:
            return _executor(environment)
        case [first, *_] if first not in NAMES and not first.startswith("-"):
            return list(arguments)
        case _:
            return ["seglake", *arguments]


def provide_writable(environment: MutableMapping[str, str]) -> None:
    """Copy the kernels to a new writable folder, and add a missing home and user name.

    Args:
        environment: the process's variables; the function adds variables for the new files.
    """
    folder = Path(tempfile.mkdtemp(prefix="seglake-"))
    kernels = environment.get(KERNELS_VARIABLE)
    if kernels and "NUMBA_CACHE_DIR" not in environment:
        # numba ignores a cache folder that it cannot write to.
        shutil.copytree(kernels, folder / "kernels", copy_function=shutil.copyfile)
        environment["NUMBA_CACHE_DIR"] = str(folder / "kernels")
    if not os.access(environment.get("HOME", ""), os.W_OK):
        environment["HOME"] = str(folder)
    if not _has_name(os.getuid()):
        _give_name(folder, environment)


def _has_name(user_id: int) -> bool:
    try:
        pwd.getpwuid(user_id)
    except KeyError:
        return False
    return True


def _give_name(folder: Path, environment: MutableMapping[str, str]) -> None:
    """Make the user's name known to programs that start from here, without writing to /etc."""
    line = f"{USER_NAME}:x:{os.getuid()}:{os.getgid()}::{environment['HOME']}:/bin/sh\n"
    names = folder / "passwd"
    names.write_text(Path("/etc/passwd").read_text("utf-8") + line, "utf-8")
    environment["NSS_WRAPPER_PASSWD"] = str(names)
    environment["NSS_WRAPPER_GROUP"] = "/etc/group"
    preloaded = environment.get("LD_PRELOAD", "").split()
    environment["LD_PRELOAD"] = " ".join([_NAME_GIVER, *preloaded])


def _driver(arguments: list[str], environment: Mapping[str, str]) -> list[str]:
    """Return the spark-submit call that starts a driver in this process."""
    address = environment["SPARK_DRIVER_BIND_ADDRESS"]
    command = [f"{environment['SPARK_HOME']}/bin/spark-submit", "--deploy-mode", "client"]
    command += ["--conf", f"spark.driver.bindAddress={address}"]
    command += ["--conf", f"spark.executorEnv.SPARK_DRIVER_POD_IP={address}"]
    return command + arguments


def _executor(environment: Mapping[str, str]) -> list[str]:
    memory = environment["SPARK_EXECUTOR_MEMORY"]
    command = [f"{environment['JAVA_HOME']}/bin/java", *_java_options(environment)]
    command += [f"-Xms{memory}", f"-Xmx{memory}", "-cp", _class_path(environment), _EXECUTOR_CLASS]
    for option, variable in _EXECUTOR_OPTIONS.items():
        command += [option, environment[variable]]
    return command


def _java_options(environment: Mapping[str, str]) -> list[str]:
    """Return the Java options, which Kubernetes passes in numbered variables, in order."""
    numbered = {
        int(match[1]): value
        for name, value in environment.items()
        if (match := _JAVA_OPTION.fullmatch(name))
    }
    return [numbered[number] for number in sorted(numbered)]


def _class_path(environment: Mapping[str, str]) -> str:
    """Return the class path, in which configuration folders precede JARs to override them."""
    spark = environment["SPARK_HOME"]
    places = [
        environment.get("SPARK_CONF_DIR", f"{spark}/conf"),
        environment.get("HADOOP_CONF_DIR"),
        environment.get("SPARK_CLASSPATH"),
        f"{spark}/jars/*",
        environment.get("SPARK_DIST_CLASSPATH"),
    ]
    return ":".join(place for place in places if place)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
