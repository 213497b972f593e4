"""What can go wrong before a pipeline starts; each message is one paragraph for a person."""

from seglake.errors import SeglakeError


class NoJavaError(SeglakeError):
    """Neither the machine nor the installed packages have a Java that runs Spark."""


class SparkStartError(SeglakeError):
    """Spark did not start, or started without what the job needs."""


class WorkersUnfitError(SeglakeError):
    """The workers of a cluster lack what our tasks need; the message says how to bring it."""


class DeltaJarsError(SeglakeError):
    """Delta's JARs are neither there nor to be had."""


class S3JarsError(SeglakeError):
    """The JARs with which Spark reads S3 are neither there nor to be had."""
