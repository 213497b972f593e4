"""Effect: reads the properties that Hadoop and Spark keep in files, as their own clients find them.

Of Hadoop's files that is `<property>` with `<name>` and `<value>`, where `${env.NAME}` stands for
a variable and `${name}` for another property; files that include others are not followed. No text
here shows a value: it may be a secret.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from seglake.errors import WrongCallError

SPARK_PREFIX = "spark.hadoop."
USERS_CONF_FOLDER = "_SEGLAKE_SPARK_CONF_DIR"
"""A variable for us and the processes that we start, since SPARK_HOME is changed for Spark."""
_SITE_FILES = ("core-site.xml", "hdfs-site.xml")
_DEFAULTS = "spark-defaults.conf"
_DEFAULTS_LINE = re.compile(r"spark\.hadoop\.(\S+?)(?:\s*[=:]\s*|\s+)(.*)")
_REFERENCE = re.compile(r"\$\{([^${}]+)\}")
_MOST_ROUNDS = 20  # as in Hadoop


def site_properties(environment: Mapping[str, str]) -> dict[str, str]:
    """What core-site.xml and hdfs-site.xml in HADOOP_CONF_DIR say; nothing where there are none.

    Raises:
        WrongCallError: a file is there and cannot be read.
    """
    folder = environment.get("HADOOP_CONF_DIR")
    found: dict[str, str] = {}
    for name in _SITE_FILES if folder else ():
        found |= _properties_of(Path(folder or "", name))
    return {name: _expanded(value, found, environment) for name, value in found.items()}


def spark_defaults(environment: Mapping[str, str]) -> dict[str, str]:
    """Hadoop's properties in the spark-defaults.conf that spark-submit would take.

    Raises:
        WrongCallError: the file is there and cannot be read.
    """
    folder = spark_conf_folder(environment)
    text = _text_of(Path(folder, _DEFAULTS)) if folder else None
    matches = (_DEFAULTS_LINE.fullmatch(line.strip()) for line in (text or "").splitlines())
    return {match[1]: match[2] for match in matches if match is not None}


def spark_conf_folder(environment: Mapping[str, str]) -> str | None:
    """Where the user keeps spark-defaults.conf, also when a Spark of ours has begun to run."""
    home = environment.get("SPARK_HOME")
    named = environment.get("SPARK_CONF_DIR") or environment.get(USERS_CONF_FOLDER)
    return named or (str(Path(home, "conf")) if home else None)


def _properties_of(path: Path) -> dict[str, str]:
    text = _text_of(path)
    if text is None:
        return {}
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
    """Put in what `${...}` stands for; what nobody knows stays as it is."""

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
