"""What can go wrong before a pipeline starts; each message is one paragraph for a person."""


class JobError(Exception):
    """A job could not do its work for a reason outside the data."""


class WrongCallError(JobError):
    """The command line or a settings file is wrong; nothing was touched."""


class NoJavaError(JobError):
    """Neither the machine nor the installed packages have a Java that runs Spark."""


class SparkStartError(JobError):
    """Spark did not start, or started without what the job needs."""


class WorkersUnfitError(JobError):
    """The workers of a cluster lack what our tasks need; the message says how to bring it."""


class DeltaJarsError(JobError):
    """Delta's JARs are neither there nor to be had."""


class S3JarsError(JobError):
    """The JARs with which Spark reads S3 are neither there nor to be had."""
