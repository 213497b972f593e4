"""Turns errors of the HDFS client into seglake's errors, with short reasons.

An error text of the client is a Java exception's name, message and stack trace, or an error of the
operating system. delta-rs contains the same client, and wraps its texts in other texts.
"""

import re

from seglake.storage.errors import (
    NotFoundError,
    PlaceError,
    RefusedError,
    StorageError,
    StoreSilentError,
)

_RPC = re.compile(r"(?:\w+\.)+(?:\w+\$)?(\w+Exception)\W{1,4}(.*)", re.DOTALL)
_STACK = re.compile(r"(\\n|\n|: at (org|java|javax)\.).*", re.DOTALL)
_WRAPPED = re.compile(r".*(?:HdfsObjectStore error|communicating with HDFS): ", re.DOTALL)

_MEANINGS = {  # keys are names of Java exceptions
    "SafeModeException": "the name node is in safe mode and refuses changes: run again when an"
    " administrator has ended it (hdfs dfsadmin -safemode get)",
    "RetriableException": "the name node is starting or in safe mode: run again when it is ready",
    "StandbyException": "the name node is a stand-by and none is active: give the name of the"
    " nameservice instead of one host, or run again when one is active",
    "NSQuotaExceededException": "the folder's quota of files and folders (name quota) is used up",
    "DSQuotaExceededException": "the quota of space is used up",
    "QuotaByStorageTypeExceededException": "the quota of space is used up",
}
_KERBEROS = ("GSSAPI", "libgssapi", "SASLError", "NoSASLMechanism", "SaslException", "SASL error")

_REFUSALS = (
    "AccessControlException",
    "AuthorizationException",
    "ParentNotDirectoryException",
    "No NameNode hosts",
    "No viewfs fallback",
    *_KERBEROS,
)
_BREAKS_OFF = ("listener disconnected", "UnexpectedEof", "early eof", "Broken pipe")
_SILENT = (
    "Connection refused",
    "Connection timed out",
    "No route to host",
    "Network is unreachable",
    "failed to lookup address",
)
_OF_DATA_NODES = ("read", "write")  # actions that may succeed with another data node


def error_of(action: str, path: str, error: Exception, uri: str) -> PlaceError:
    """Return seglake's error for an error of the client, without its Java stack trace.

    Args:
        action: verb phrase for the message, such as "read".
        path: path of the file or folder.
        error: the client's error.
        uri: scheme and authority of the file system.
    """
    if _is_folder(error):
        return StorageError(action=action, path=path, reason="it is a folder")
    if isinstance(error, FileNotFoundError):
        return NotFoundError(action=action, path=path)
    if isinstance(error, FileExistsError):
        return StorageError(action=action, path=path, reason="File exists")
    return failure(action, path, str(error), uri)


def failure(action: str, path: str, text: str, uri: str) -> PlaceError:
    """Return seglake's error for an error text of the client or of delta-rs; see `error_of`."""
    return _kind_of(action, text)(action=action, path=path, reason=_reason_of(text, uri))


def _kind_of(action: str, text: str) -> type[StorageError | StoreSilentError]:
    """Return the class of seglake's error for an error text."""
    if any(word in text for word in _REFUSALS):
        return RefusedError
    is_silent = _is_silence(text) and action not in _OF_DATA_NODES
    return StoreSilentError if is_silent else StorageError


def _is_folder(error: Exception) -> bool:
    """Return whether a read failed because the path is a folder; the client says 'not found'."""
    return isinstance(error, IsADirectoryError) or str(error).startswith("Path is not a file")


def is_answer(text: str) -> bool:
    """Return whether an error proves that the name node works.

    A denied access to a path proves it.
    """
    return "AccessControlException" in text


def is_passing(text: str) -> bool:
    """Return whether the same action may succeed with other data nodes.

    It may succeed unless the name node refused it.
    """
    return "RPCError" not in text


def has_no_sync(text: str) -> bool:
    """Return whether a sync failed only because the file is erasure-coded."""
    return "not supported for erasure-coded files" in text


def _is_silence(text: str) -> bool:
    """Return whether no node of HDFS answered in spite of retries."""
    return "RPCError" not in text and any(word in text for word in _SILENT)


def _reason_of(text: str, uri: str) -> str:
    """Return why a request to HDFS failed, and what to check."""
    if any(word in text for word in _KERBEROS):
        return _kerberos(text, uri)
    match = _RPC.search(text)
    if match is None:
        return _of_the_system(_WRAPPED.sub("", text), uri)
    kind, message = match[1], _STACK.sub("", match[2]).replace('\\"', '"').strip('")')
    if kind == "AccessControlException":
        return f"{message}; HADOOP_USER_NAME or Kerberos sets the user"
    if "could only be written to 0" in message:
        return f"no data node of {uri} accepts the block: they are down, or their disks are full"
    meaning = _MEANINGS.get(kind)
    if meaning is None:
        return f"{message} ({kind})"
    # The message has the numbers of the quota.
    return f"{meaning}: {message}" if "quota" in meaning else meaning


def _kerberos(text: str, uri: str) -> str:
    """Return the reason for a failed Kerberos login."""
    reason = " ".join(_STACK.sub("", text).split())[:200]
    return (
        f"{uri} requires Kerberos, and this process has no valid ticket: check that klist lists one"
        f" (kinit gets it) and that the library libgssapi_krb5 is installed ({reason})"
    )


def _of_the_system(text: str, uri: str) -> str:
    """Return the reason for an error of the operating system or of the client itself."""
    plain = " ".join(text.split())
    if "Connection refused" in plain:
        return (
            f"nothing listens at {uri} or at one of its data nodes: check the port, and that "
            "all nodes are up"
        )
    if "lookup address" in plain:
        return (
            f"the host of {uri} is unknown, and hdfs-site.xml in HADOOP_CONF_DIR has no"
            " nameservice of this name"
        )
    if "No NameNode hosts" in plain:
        return f"hdfs-site.xml in HADOOP_CONF_DIR has no address of a name node for {uri}"
    if "No viewfs fallback" in plain:
        name = uri.partition("://")[2]
        return (
            "the mount table has no link for this path and no fallback: set"
            f" fs.viewfs.mounttable.{name}.linkFallback"
        )
    if any(word in plain for word in _BREAKS_OFF):
        return f"{uri} closes the connection: check that the port is the RPC port of a name node"
    return plain
