"""Failures before a pipeline starts; each message is one paragraph for a person."""

from seglake.errors import SeglakeError


class NoJavaError(SeglakeError):
    """Neither the machine nor the installed packages have a Java that can run Spark."""


class SparkStartError(SeglakeError):
    """Spark did not start, or started without what the job needs."""


class WorkersUnfitError(SeglakeError):
    """The workers of a cluster lack packages that tasks need; the message has a remedy."""


class DeltaJarsError(SeglakeError):
    """Delta's JARs are missing and cannot be fetched."""


class NoDeltaError(DeltaJarsError):
    """No release of Delta fits this Spark."""


class S3JarsError(SeglakeError):
    """The JARs with which Spark reads S3 are missing and cannot be fetched."""
