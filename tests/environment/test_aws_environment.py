"""What AWS's variables and profiles say, and which one wins."""

from pathlib import Path

import pytest

from seglake.environment.aws_environment import aws_variables
from seglake.errors import WrongCallError


def profiles(home: Path, **files: str) -> dict[str, str]:
    (home / ".aws").mkdir()
    for name, text in files.items():
        (home / ".aws" / name).write_text(text)
    return {"HOME": str(home)}


def test_a_profile_of_aws_serves_where_no_variable_does(tmp_path: Path) -> None:
    environment = profiles(
        tmp_path,
        credentials="[default]\naws_access_key_id=A\naws_secret_access_key=S%%\n"
        "[two]\naws_access_key_id=B\naws_secret_access_key=T\naws_session_token=U\n",
        config="[default]\nregion = r1\n[profile two]\nregion = r2\noutput = json\n",
    )
    assert aws_variables(environment) == {
        "AWS_ACCESS_KEY_ID": "A",
        "AWS_SECRET_ACCESS_KEY": "S%%",
        "AWS_DEFAULT_REGION": "r1",
    }
    assert aws_variables({**environment, "AWS_PROFILE": "two"}) == {
        "AWS_ACCESS_KEY_ID": "B",
        "AWS_SECRET_ACCESS_KEY": "T",
        "AWS_SESSION_TOKEN": "U",
        "AWS_DEFAULT_REGION": "r2",
    }
    variables = {"AWS_ACCESS_KEY_ID": "C", "AWS_SECRET_ACCESS_KEY": "V", "AWS_REGION": "r3"}
    assert aws_variables({**environment, **variables}) == {**variables, "AWS_DEFAULT_REGION": "r1"}
    variables = {**variables, "AWS_DEFAULT_REGION": "r4"}
    assert aws_variables({**environment, **variables}) == variables
    assert aws_variables({**environment, "AWS_PROFILE": "three"}) == {}


def test_a_profiles_key_is_not_mixed_with_a_token_of_the_environment(tmp_path: Path) -> None:
    environment = profiles(
        tmp_path, credentials="[default]\naws_access_key_id=A\naws_secret_access_key=S\n"
    )
    assert aws_variables({**environment, "AWS_SESSION_TOKEN": "of another key"}) == {
        "AWS_ACCESS_KEY_ID": "A",
        "AWS_SECRET_ACCESS_KEY": "S",
    }


def test_a_profile_file_that_is_none_is_named_and_not_shown(tmp_path: Path) -> None:
    environment = profiles(tmp_path, credentials="aws_secret_access_key = secret\n")
    with pytest.raises(WrongCallError, match="cannot read the profiles") as caught:
        aws_variables(environment)
    assert "secret_access_key" not in str(caught.value)
