"""Failures before a pipeline starts; each message is one paragraph for a person."""

from seglake.errors import SeglakeError


class NoJavaError(SeglakeError):
    """Neither the machine nor the installed packages have a Java that can run Spark."""


class SparkStartError(SeglakeError):
    """Spark did not start, or started without classes that the job needs."""


class WorkersUnfitError(SeglakeError):
    """The workers of a cluster lack packages that tasks need; the message has a remedy."""


class DeltaJarsError(SeglakeError):
    """Error for JARs of Delta that are missing and cannot be fetched."""


class NoDeltaError(DeltaJarsError):
    """Error for a Spark without a matching release of Delta."""


class SparkUnpreparedError(SeglakeError):
    """There is no Spark to prepare for its first run; everything else is done."""


class S3JarsError(SeglakeError):
    """The JARs with which Spark reads S3 are missing and cannot be fetched."""
