"""Resolves endpoint, region and credentials of an S3 bucket from Hadoop's and AWS's settings.

No other module interprets these settings. Properties of Hadoop's S3A take precedence, and a
bucket's own properties override the general ones. AWS's variables supply values that S3A's
properties lack. The result becomes options of obstore and of delta-rs.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from seglake.storage.errors import RefusedError
from seglake.storage.hadoop_properties import HadoopProperties

# With these limits a wrong endpoint is reported within a minute, whether attempts hang or fail at
# once.
CONNECT_SECONDS = 5
SILENCE_SECONDS = 15
REQUEST_SECONDS = 30
RETRY_SECONDS = 20
MOST_RETRIES = 5

# property names after the prefix `fs.s3a.` or a bucket's prefix
_ACCESS_KEY, _SECRET_KEY = "access.key", "secret.key"
_DEFAULT_REGION = "us-east-1"
_AMAZON_ENDPOINT = re.compile(r"s3[.-]([a-z]{2}-[a-z0-9-]+-[0-9])\.amazonaws\.com")

# Last parts of the class names in `fs.s3a.aws.credentials.provider`.
_OF_PROPERTIES = frozenset({"SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider"})
_OF_THE_MACHINE = frozenset(
    {
        "default",
        "DefaultCredentialsProvider",
        "DefaultAWSCredentialsProviderChain",
        "EnvironmentVariableCredentialsProvider",
        "ProfileCredentialsProvider",
        "WebIdentityTokenFileCredentialsProvider",
        "WebIdentityTokenCredentialsProvider",
        "ContainerCredentialsProvider",
        "InstanceProfileCredentialsProvider",
        "IAMInstanceCredentialsProvider",
    }
)
_ANONYMOUS = frozenset({"AnonymousAWSCredentialsProvider", "AnonymousCredentialsProvider"})

VARIABLES = frozenset(
    {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_S3",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
    }
)
"""Environment variables that become properties under their own names."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Access key, secret key and session token; the repr hides them."""

    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


class S3Access(NamedTuple):
    """Endpoint, region and credentials of one bucket.

    Attributes:
        endpoint: URL of the store with its scheme; None for Amazon S3.
        is_virtual_hosted: whether the bucket is part of the host name and not of the path.
        keys: the keys; None if the library finds credentials itself (web identity, container,
            machine).
    """

    bucket: str
    endpoint: str | None
    region: str
    is_virtual_hosted: bool
    is_anonymous: bool
    keys: Keys | None

    @property
    def bucket_endpoint(self) -> str | None:
        """Return the endpoint for the libraries; a virtual-hosted bucket is part of its host."""
        if self.endpoint is None or not self.is_virtual_hosted:
            return self.endpoint
        scheme, _, host = self.endpoint.partition("://")
        return f"{scheme}://{self.bucket}.{host}"

    @property
    def place(self) -> str:
        """Return the name of the endpoint for messages."""
        return self.endpoint or f"Amazon S3 in {self.region}"


def access_of(properties: HadoopProperties, bucket: str) -> S3Access:
    """Resolve the access to a bucket from the properties.

    Raises:
        RefusedError: the endpoint is not a URL, an access key or its secret is missing, or the
            credentials provider is unknown.
    """
    keys, is_anonymous = _credentials(properties, bucket)
    endpoint = _endpoint(properties, bucket)
    return S3Access(
        bucket=bucket,
        endpoint=endpoint,
        region=_region(properties, bucket, endpoint),
        is_virtual_hosted=properties.get_of_bucket(bucket, "path.style.access") == "false",
        is_anonymous=is_anonymous,
        keys=keys,
    )


def delta_options(access: S3Access) -> dict[str, str]:
    """Return the options of delta-rs; they contain secrets."""
    options = {
        "aws_region": access.region,
        "aws_virtual_hosted_style_request": str(access.is_virtual_hosted).lower(),
        "aws_conditional_put": "etag",
        "connect_timeout": f"{CONNECT_SECONDS}s",
        "timeout": f"{REQUEST_SECONDS}s",
        "max_retries": str(MOST_RETRIES),
        "retry_timeout": f"{RETRY_SECONDS}s",
    }
    if access.bucket_endpoint is not None:
        options["aws_endpoint_url"] = access.bucket_endpoint
        options["aws_allow_http"] = str(access.bucket_endpoint.startswith("http:")).lower()
    if access.is_anonymous:
        options["aws_skip_signature"] = "true"
    if access.keys is not None:
        options["aws_access_key_id"] = access.keys.access_key
        options["aws_secret_access_key"] = access.keys.secret_key
        # Set even if empty: otherwise delta-rs would send the environment's token, which belongs to
        # other keys.
        options["aws_session_token"] = access.keys.session_token or ""
    return options


def s3a_properties(access: S3Access) -> dict[str, str]:
    """Return the properties of Hadoop's S3A for this bucket; they contain secrets."""
    found = {
        "endpoint.region": access.region,
        "path.style.access": str(not access.is_virtual_hosted).lower(),
    }
    if access.endpoint is not None:
        found["endpoint"] = access.endpoint
        found["connection.ssl.enabled"] = str(access.endpoint.startswith("https:")).lower()
    provider = "AnonymousAWSCredentialsProvider" if access.is_anonymous else None
    if access.keys is not None:
        found["access.key"] = access.keys.access_key
        found["secret.key"] = access.keys.secret_key
        provider = "SimpleAWSCredentialsProvider"
        if access.keys.session_token is not None:
            found["session.token"] = access.keys.session_token
            provider = "TemporaryAWSCredentialsProvider"
    if provider is not None:
        found["aws.credentials.provider"] = f"org.apache.hadoop.fs.s3a.{provider}"
    return {f"fs.s3a.bucket.{access.bucket}.{name}": value for name, value in found.items()}


def _credentials(properties: HadoopProperties, bucket: str) -> tuple[Keys | None, bool]:
    """Return the keys of the first provider that has keys, and whether access is anonymous.

    Providers are tried in the order of S3A.
    """
    given = properties.get_of_bucket(bucket, "aws.credentials.provider") or ""
    providers = [name.strip().rpartition(".")[2] for name in given.split(",") if name.strip()]
    for provider in providers or ["TemporaryAWSCredentialsProvider", "default"]:
        if provider in _ANONYMOUS:
            return None, True
        if provider in _OF_PROPERTIES:
            keys = _keys_of_properties(properties, bucket)
        elif provider in _OF_THE_MACHINE:
            keys = _keys_of_environment(properties)
        else:  # never use other keys instead of an unknown provider's
            reason = f"its credentials provider {provider} is unknown: set one of "
            reason += ", ".join(sorted({*_OF_PROPERTIES, *_OF_THE_MACHINE} - {"default"}))
            raise RefusedError(action="use", path=f"s3://{bucket}", reason=reason)
        if keys is not None:
            return keys, False
    return None, False


def _keys_of_properties(properties: HadoopProperties, bucket: str) -> Keys | None:
    """Return the keys in S3A's properties; None if neither is set."""
    access_key = properties.get_of_bucket(bucket, _ACCESS_KEY)
    secret_key = properties.get_of_bucket(bucket, _SECRET_KEY)
    if access_key is None and secret_key is None:
        return None
    if secret_key is None:  # never use other keys instead of half a pair
        raise _half_a_pair(properties, bucket, _ACCESS_KEY, _SECRET_KEY)
    if access_key is None:
        raise _half_a_pair(properties, bucket, _SECRET_KEY, _ACCESS_KEY)
    return Keys(access_key, secret_key, properties.get_of_bucket(bucket, "session.token"))


def _half_a_pair(
    properties: HadoopProperties, bucket: str, given: str, lacking: str
) -> RefusedError:
    """Return the error for a pair of keys of which one is missing."""
    of_bucket = f"fs.s3a.bucket.{bucket}"
    prefix = "fs.s3a" if properties.get(f"{of_bucket}.{given}") is None else of_bucket
    reason = f"{prefix}.{lacking} is not set, but {prefix}.{given} is: set both or neither"
    return RefusedError(action="use", path=f"s3://{bucket}", reason=reason)


def _keys_of_environment(properties: HadoopProperties) -> Keys | None:
    """Return the keys in AWS's variables; None unless both are set."""
    access_key = properties.get("AWS_ACCESS_KEY_ID")
    secret_key = properties.get("AWS_SECRET_ACCESS_KEY")
    if access_key is None or secret_key is None:
        return None
    return Keys(access_key, secret_key, properties.get("AWS_SESSION_TOKEN"))


def _endpoint(properties: HadoopProperties, bucket: str) -> str | None:
    """Return a bucket's endpoint with its scheme; None for Amazon S3."""
    given = (
        properties.get_of_bucket(bucket, "endpoint")
        or properties.get("AWS_ENDPOINT_URL_S3")
        or properties.get("AWS_ENDPOINT_URL")
    )
    if given is None:
        return None
    if "://" not in given:
        is_plain = properties.get_of_bucket(bucket, "connection.ssl.enabled") == "false"
        given = f"{'http' if is_plain else 'https'}://{given}"
    if not _is_endpoint(given):
        reason = "its endpoint is not a URL such as https://host:9000: check fs.s3a.endpoint"
        raise RefusedError(action="use", path=f"s3://{bucket}", reason=reason)
    return given.rstrip("/")


def _is_endpoint(text: str) -> bool:
    """Return whether a text is an HTTP URL without credentials."""
    try:
        url = urlsplit(text)
        is_whole = url.port != 0 and bool(url.hostname)
    except ValueError:
        return False
    return is_whole and url.scheme in ("http", "https") and "@" not in url.netloc


def _region(properties: HadoopProperties, bucket: str, endpoint: str | None) -> str:
    """Return the configured region, else the region in the endpoint's name, else the default."""
    given = (
        properties.get_of_bucket(bucket, "endpoint.region")
        or properties.get("AWS_REGION")
        or properties.get("AWS_DEFAULT_REGION")
    )
    if given is not None:
        return given
    host = urlsplit(endpoint or "").hostname or ""
    match = _AMAZON_ENDPOINT.fullmatch(host)
    return match[1] if match else _DEFAULT_REGION
