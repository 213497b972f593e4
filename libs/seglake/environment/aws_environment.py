"""Reads S3 settings from variables and profile files, as AWS's own tools do."""

import configparser
from collections.abc import Mapping
from pathlib import Path

from seglake.errors import WrongCallError
from seglake.storage.s3_access import VARIABLES

_KEY = "AWS_ACCESS_KEY_ID"
_OF_CREDENTIALS = {
    "aws_access_key_id": _KEY,
    "aws_secret_access_key": "AWS_SECRET_ACCESS_KEY",
    "aws_session_token": "AWS_SESSION_TOKEN",
}
_OF_CONFIG = {"region": "AWS_DEFAULT_REGION"}


def aws_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return AWS's variables, with the profile's values for variables that are not set.

    Args:
        environment: the variables of the process.

    Raises:
        WrongCallError: a file of profiles exists and cannot be read.
    """
    set_ones = {name: environment[name] for name in VARIABLES if environment.get(name)}
    profile = environment.get("AWS_PROFILE", "default")
    folder = Path(environment["HOME"], ".aws") if "HOME" in environment else None
    if _KEY not in set_ones:
        # If the variables have no access key, a session token in them belongs to another key.
        for name in _OF_CREDENTIALS.values():
            set_ones.pop(name, None)
        path = _place(environment, "AWS_SHARED_CREDENTIALS_FILE", folder, "credentials")
        set_ones |= _section(path, profile, _OF_CREDENTIALS)
    path = _place(environment, "AWS_CONFIG_FILE", folder, "config")
    section = profile if profile == "default" else f"profile {profile}"
    return _section(path, section, _OF_CONFIG) | set_ones


def _place(
    environment: Mapping[str, str], variable: str, folder: Path | None, name: str
) -> Path | None:
    if environment.get(variable):
        return Path(environment[variable])
    return None if folder is None else folder / name


def _section(path: Path | None, section: str, names: Mapping[str, str]) -> dict[str, str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        if path is None or not parser.read(path, "utf-8"):
            return {}
    # The parser's message would quote the wrong line, which may have a secret.
    except (configparser.Error, UnicodeDecodeError):
        raise WrongCallError(f"cannot read the profiles in {path}: it is not an INI file") from None
    if not parser.has_section(section):
        return {}
    values = parser[section]
    return {variable: values[name] for name, variable in names.items() if name in values}
