"""Reads Hadoop's properties from its XML files and from spark-defaults.conf.

The XML files have `<property>` elements with a `<name>` and a `<value>`. In a value, `${env.NAME}`
stands for a variable and `${name}` for another property. Included files are not read. No message
shows a value, which may be a secret.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from seglake.errors import WrongCallError

SPARK_PREFIX = "spark.hadoop."
USERS_CONF_FOLDER = "_SEGLAKE_SPARK_CONF_DIR"
"""Variable with the user's Spark configuration folder, kept when SPARK_HOME is changed."""
_SITE_FILES = ("core-site.xml", "hdfs-site.xml")
_DEFAULTS = "spark-defaults.conf"
_DEFAULTS_LINE = re.compile(r"(spark\.\S+?)(?:\s*[=:]\s*|\s+)(.*)")
_REFERENCE = re.compile(r"\$\{([^${}]+)\}")
_MOST_ROUNDS = 20  # the limit in Hadoop


def site_properties(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of core-site.xml and hdfs-site.xml in HADOOP_CONF_DIR, if they exist.

    Args:
        environment: the variables of the process.

    Raises:
        WrongCallError: a file exists and cannot be read.
    """
    folder = environment.get("HADOOP_CONF_DIR")
    found: dict[str, str] = {}
    for name in _SITE_FILES if folder else ():
        found |= _properties_of(Path(folder or "", name))
    return {name: _expanded(value, found, environment) for name, value in found.items()}


def spark_defaults(environment: Mapping[str, str]) -> dict[str, str]:
    """Return Hadoop's properties in the spark-defaults.conf that spark-submit would read.

    Args:
        environment: the variables of the process.

    Raises:
        WrongCallError: the file exists and cannot be read.
    """
    found = every_spark_default(environment).items()
    of_hadoop = ((name, value) for name, value in found if name.startswith(SPARK_PREFIX))
    return {name.removeprefix(SPARK_PREFIX): value for name, value in of_hadoop}


def every_spark_default(environment: Mapping[str, str]) -> dict[str, str]:
    """Return all properties in the spark-defaults.conf that spark-submit would read.

    Args:
        environment: the variables of the process.

    Raises:
        WrongCallError: the file exists and cannot be read.
    """
    folder = spark_conf_folder(environment)
    text = _text_of(Path(folder, _DEFAULTS)) if folder else None
    matches = (_DEFAULTS_LINE.fullmatch(line.strip()) for line in (text or "").splitlines())
    return {match[1]: match[2] for match in matches if match is not None}


def spark_conf_folder(environment: Mapping[str, str]) -> str | None:
    """Return the folder of the user's spark-defaults.conf, even if SPARK_HOME was changed."""
    home = environment.get("SPARK_HOME")
    named = environment.get("SPARK_CONF_DIR") or environment.get(USERS_CONF_FOLDER)
    return named or (str(Path(home, "conf")) if home else None)


def _properties_of(path: Path) -> dict[str, str]:
    text = _text_of(path)
    if text is None:
        return {}
    from xml.etree import ElementTree  # most machines have no such file

    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise WrongCallError(f"{path} is not XML: {error}") from None
    pairs = ((entry.findtext("name"), entry.findtext("value")) for entry in root.iter("property"))
    return {name.strip(): value for name, value in pairs if name and value is not None}


def _text_of(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise WrongCallError(f"cannot read {path}: {reason}") from None


def _expanded(value: str, properties: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """Return a value with each `${...}` replaced; unknown names stay."""

    def known(match: re.Match[str]) -> str:
        name = match[1]
        if not name.startswith("env."):
            return properties.get(name, match[0])
        variable, _, otherwise = name.removeprefix("env.").partition(":-")
        return environment.get(variable, otherwise or match[0])

    for _ in range(_MOST_ROUNDS):
        expanded = _REFERENCE.sub(known, value)
        if expanded == value:
            break
        value = expanded
    return value
