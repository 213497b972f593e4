"""How properties become an access: Hadoop's names, their per-bucket forms, then AWS's variables."""

import pytest

from seglake.storage.errors import RefusedError, StorageError
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.s3_access import Keys, S3Access, access_of, delta_options, s3a_properties

_KEYS = {"fs.s3a.access.key": "AK", "fs.s3a.secret.key": "SK"}
_VARIABLES = {"AWS_ACCESS_KEY_ID": "EAK", "AWS_SECRET_ACCESS_KEY": "ESK"}
_PROVIDERS = "fs.s3a.aws.credentials.provider"
_S3A = "org.apache.hadoop.fs.s3a"


def access(**given: str) -> S3Access:
    return access_of(HadoopProperties(given), "b")


def test_without_properties_it_is_amazon_and_its_own_chain() -> None:
    assert access() == S3Access("b", None, "us-east-1", False, False, None)


def test_a_property_of_the_bucket_goes_before_the_one_of_all() -> None:
    found = access(
        **{
            **_KEYS,
            "fs.s3a.endpoint": "http://all:1",
            "fs.s3a.bucket.b.endpoint": "http://own:2/",
            "fs.s3a.bucket.b.access.key": "BAK",
            "fs.s3a.bucket.other.secret.key": "never",
            "fs.s3a.bucket.b.endpoint.region": "here",
        }
    )
    assert (found.endpoint, found.region) == ("http://own:2", "here")
    assert found.keys == Keys("BAK", "SK")


@pytest.mark.parametrize(
    ("given", "endpoint"),
    [
        ({"fs.s3a.endpoint": "host:9000"}, "https://host:9000"),
        (
            {"fs.s3a.endpoint": "host:9000", "fs.s3a.connection.ssl.enabled": "false"},
            "http://host:9000",
        ),
        (
            {"fs.s3a.endpoint": "https://host", "fs.s3a.connection.ssl.enabled": "false"},
            "https://host",
        ),
        ({"AWS_ENDPOINT_URL": "http://a:1"}, "http://a:1"),
        ({"AWS_ENDPOINT_URL": "http://a:1", "AWS_ENDPOINT_URL_S3": "http://b:1"}, "http://b:1"),
        ({"AWS_ENDPOINT_URL": "http://a:1", "fs.s3a.endpoint": "http://c:1"}, "http://c:1"),
    ],
)
def test_endpoints(given: dict[str, str], endpoint: str) -> None:
    assert access(**given).endpoint == endpoint


@pytest.mark.parametrize(
    "endpoint", ["http://h:99999x", "http://h:70000", "ftp://h", "http://", "http://me:secret@h"]
)
def test_what_is_no_endpoint_is_refused_and_not_shown(endpoint: str) -> None:
    with pytest.raises(StorageError, match="its endpoint is not a URL") as caught:
        access(**{"fs.s3a.endpoint": endpoint})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "region"),
    [
        ({"fs.s3a.endpoint": "s3.eu-central-1.amazonaws.com"}, "eu-central-1"),
        ({"fs.s3a.endpoint": "s3.amazonaws.com"}, "us-east-1"),
        ({"AWS_DEFAULT_REGION": "c"}, "c"),
        ({"AWS_DEFAULT_REGION": "c", "AWS_REGION": "d"}, "d"),
        ({"AWS_REGION": "d", "fs.s3a.endpoint.region": "e"}, "e"),
    ],
)
def test_regions(given: dict[str, str], region: str) -> None:
    assert access(**given).region == region


def test_keys_of_properties_go_before_those_of_the_environment() -> None:
    assert access(**_KEYS, **_VARIABLES).keys == Keys("AK", "SK")
    assert access(**_VARIABLES, AWS_SESSION_TOKEN="T").keys == Keys("EAK", "ESK", "T")
    token = {"fs.s3a.session.token": "PT"}
    assert access(**_KEYS, **token, **_VARIABLES).keys == Keys("AK", "SK", "PT")


@pytest.mark.parametrize(
    ("given", "lacking"),
    [
        ({"fs.s3a.access.key": "hidden"}, "fs.s3a.secret.key"),
        ({"fs.s3a.secret.key": "hidden"}, "fs.s3a.access.key"),
        ({"fs.s3a.bucket.b.secret.key": "hidden"}, "fs.s3a.bucket.b.access.key"),
    ],
)
def test_half_a_pair_of_properties_is_refused_whatever_the_environment_has(
    given: dict[str, str], lacking: str
) -> None:
    for environment in ({}, _VARIABLES):
        with pytest.raises(RefusedError, match="cannot use s3://b: ") as caught:
            access(**given, **environment)
        assert f"{lacking} is not set" in str(caught.value)
        assert "hidden" not in str(caught.value)
        assert "\n" not in str(caught.value)


def test_half_a_pair_that_no_provider_asks_for_does_no_harm() -> None:
    provider = {_PROVIDERS: "software.amazon.awssdk.EnvironmentVariableCredentialsProvider"}
    found = access(**{"fs.s3a.access.key": "AK"}, **_VARIABLES, **provider)
    assert found.keys == Keys("EAK", "ESK")


@pytest.mark.parametrize(
    ("providers", "keys"),
    [
        (f"{_S3A}.SimpleAWSCredentialsProvider", Keys("AK", "SK")),
        ("software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider", None),
        (
            f"{_S3A}.auth.IAMInstanceCredentialsProvider, {_S3A}.TemporaryAWSCredentialsProvider",
            Keys("AK", "SK"),
        ),
    ],
)
def test_providers_are_asked_in_their_order(providers: str, keys: Keys | None) -> None:
    assert access(**_KEYS, **{_PROVIDERS: providers}).keys == keys


def test_unknown_provider_is_refused_when_its_turn_comes() -> None:
    assumed = f"{_S3A}.auth.AssumedRoleCredentialProvider"
    with pytest.raises(StorageError, match="AssumedRoleCredentialProvider is unknown"):
        access(**_VARIABLES, **{_PROVIDERS: assumed})
    simple = f"{_S3A}.SimpleAWSCredentialsProvider"
    assert access(**_KEYS, **{_PROVIDERS: f"{simple},{assumed}"}).keys == Keys("AK", "SK")


def test_anonymous_access_takes_no_keys() -> None:
    anonymous = {_PROVIDERS: f"{_S3A}.AnonymousAWSCredentialsProvider"}
    found = access(**_KEYS, **_VARIABLES, **anonymous)
    assert (found.is_anonymous, found.keys) == (True, None)
    assert delta_options(found)["aws_skip_signature"] == "true"


def test_delta_commits_with_a_condition_and_sends_no_token_of_other_keys() -> None:
    told = delta_options(access(**_KEYS, AWS_SESSION_TOKEN="T"))
    assert told["aws_conditional_put"] == "etag"
    assert told["aws_session_token"] == ""  # given, else delta-rs takes the environment's


def test_a_bucket_in_the_host_name_is_in_the_endpoint() -> None:
    found = access(**{"fs.s3a.endpoint": "http://h:1", "fs.s3a.path.style.access": "false"})
    assert found.bucket_endpoint == "http://b.h:1"
    assert delta_options(found)["aws_virtual_hosted_style_request"] == "true"
    assert access(**{"fs.s3a.endpoint": "http://h:1"}).bucket_endpoint == "http://h:1"


def test_what_hadoop_is_told_comes_back_as_the_same_access() -> None:
    for given in (
        {},
        {**_KEYS, "fs.s3a.endpoint": "http://h:1", "fs.s3a.path.style.access": "true"},
        {**_VARIABLES, "AWS_SESSION_TOKEN": "T", "AWS_ENDPOINT_URL": "https://h"},
        {_PROVIDERS: f"{_S3A}.AnonymousAWSCredentialsProvider"},
    ):
        found = access(**given)
        told = s3a_properties(found)
        assert all(name.startswith("fs.s3a.bucket.b.") for name in told)
        assert access(**told) == found


def test_no_secret_is_shown() -> None:
    shown = repr(access(**_KEYS, **{"fs.s3a.session.token": "TOKEN"}))
    assert not any(secret in shown for secret in ("AK", "SK", "TOKEN"))
