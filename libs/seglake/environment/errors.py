"""What can go wrong before a pipeline starts; each message is one paragraph for a person."""

from seglake.errors import SeglakeError


class NoJavaError(SeglakeError):
    """Neither the machine nor the installed packages have a Java that runs Spark."""


class SparkStartError(SeglakeError):
    """Spark did not start, or started without what the job needs."""


class WorkersUnfitError(SeglakeError):
    """The workers of a cluster lack what our tasks need; the message says how to bring it."""


class JarsError(SeglakeError):
    """JARs that Spark needs are missing and cannot be fetched, or were altered on their way."""
