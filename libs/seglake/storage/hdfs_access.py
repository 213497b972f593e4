"""Resolves HDFS paths, and chooses the properties for the clients of a name node.

A client gets only the Hadoop properties in `_KNOWN`; none of them is a secret.
"""

import posixpath
from collections.abc import Sequence
from typing import NamedTuple

from seglake.storage.errors import UnsupportedUriError
from seglake.storage.hadoop_properties import HadoopProperties

HDFS_SCHEMES = ("hdfs", "viewfs")

_EXPECTED = (
    "hdfs://host:port/path",
    "hdfs://nameservice/path",
    "viewfs://mounttable/path",
    "hdfs:///path with fs.defaultFS in HADOOP_CONF_DIR",
)
_DEFAULT_PORT = 8020
_KNOWN = (
    "fs.defaultFS",
    "fs.viewfs.mounttable.",
    "dfs.nameservices",
    "dfs.ha.namenodes.",
    "dfs.namenode.rpc-address.",
    "dfs.client.",
    "dfs.data.transfer.protection",
    "dfs.user.home.dir.prefix",
    "hadoop.security.authentication",
    "hadoop.security.key.provider.path",
)
# By default, the client retries for three minutes while no name node answers. Half a minute is
# enough for a stand-by to take over.
_PATIENCE = {
    "dfs.client.failover.max.attempts": "8",
    "dfs.client.failover.sleep.max.millis": "4000",
}
_RANDOM_ORDER = "dfs.client.failover.random.order"
_UMASK = "fs.permissions.umask-mode"
_DEFAULT_UMASK = 0o022
_FILE_MODE = 0o666
_FOLDER_MODE = 0o777


class HdfsAccess(NamedTuple):
    """A file system and its client's properties.

    It is hashable, so it is the key of cached clients.

    Attributes:
        uri: scheme and authority.
        server: `hdfs://` URI of the nameservice or name node. For a mount table, the target of the
            path's link, or `uri` if the path has no link.
        config: names and values of the client's properties.
        umask: permission bits that are removed from new files and folders.
    """

    uri: str
    server: str
    config: tuple[tuple[str, str], ...]
    umask: int

    @property
    def file_permission(self) -> int:
        """Return the permission bits of a new file."""
        return _FILE_MODE & ~self.umask

    @property
    def folder_permission(self) -> int:
        """Return the permission bits of a new folder."""
        return _FOLDER_MODE & ~self.umask


def located(uri: str, properties: HadoopProperties) -> str:
    """Return the normalized path of a URI, with its authority and without a trailing slash.

    Raises:
        UnsupportedUriError: the scheme is not an HDFS scheme, or neither the URI nor the properties
            name an authority.
    """
    scheme, _, rest = uri.partition(":")
    scheme = scheme.lower()
    authority, slash, path = rest[2:].partition("/") if rest.startswith("//") else ("", "/", rest)
    if not rest.startswith("/") or scheme not in HDFS_SCHEMES or "@" in authority or "\0" in uri:
        raise UnsupportedUriError(uri=uri, schemes=_EXPECTED)
    if not authority:
        authority = _default_authority(scheme, properties)
        if not authority or not slash:
            raise UnsupportedUriError(uri=uri, schemes=_EXPECTED)
    if scheme == "hdfs" and ":" not in authority and not _is_nameservice(authority, properties):
        authority = f"{authority}:{_DEFAULT_PORT}"
    names = posixpath.normpath(f"/{path}").lstrip("/")
    return f"{scheme}://{authority}/{names}"


def split(path: str) -> tuple[str, str]:
    """Split a located path into scheme with authority, and the path on the name node."""
    scheme, _, rest = path.partition("://")
    authority, _, names = rest.partition("/")
    return f"{scheme}://{authority}", f"/{names}"


def access_of(path: str, properties: HadoopProperties) -> HdfsAccess:
    """Return the access to the file system of a located path."""
    uri, name = split(path)
    config = tuple(_client_config(properties).items())
    return HdfsAccess(uri, _server(uri, name, properties), config, _umask(properties))


def name_nodes(access: HdfsAccess) -> list[str]:
    """Return the configured names of a nameservice's name nodes; empty for a single name node."""
    text = dict(access.config).get(_name_nodes_of(access.server), "")
    return [name.strip() for name in text.split(",") if name.strip()]


def with_name_nodes(access: HdfsAccess, names: Sequence[str]) -> dict[str, str]:
    """Return the client's properties limited to these name nodes, in this order."""
    order = {_name_nodes_of(access.server): ",".join(names), _RANDOM_ORDER: "false"}
    return dict(access.config) | (order if names else {})


def _name_nodes_of(server: str) -> str:
    """Return the name of the property that lists a nameservice's name nodes."""
    return f"dfs.ha.namenodes.{server.removeprefix('hdfs://')}"


def _client_config(properties: HadoopProperties) -> dict[str, str]:
    """Return the properties for the client: seglake's defaults, overridden by the user's values."""
    given = {name: properties.get(name) for name in properties if name.startswith(_KNOWN)}
    return _PATIENCE | {name: value for name, value in given.items() if value is not None}


def _server(uri: str, name: str, properties: HadoopProperties) -> str:
    """Return the server of a path: a name node or a nameservice.

    In a mount table, the server is the target of the longest link that is a prefix of the path.
    """
    scheme, _, authority = uri.partition("://")
    if scheme == "hdfs":
        return uri
    table = f"fs.viewfs.mounttable.{authority}."
    links = [key.removeprefix(f"{table}link.") for key in properties if key.startswith(table)]
    below = [link for link in links if f"{name}/".startswith(f"{link.rstrip('/')}/")]
    key = f"link.{max(below, key=len)}" if below else "linkFallback"
    target = properties.get(f"{table}{key}") or ""
    return split(located(target, properties))[0] if target.startswith("hdfs://") else uri


def _default_authority(scheme: str, properties: HadoopProperties) -> str:
    """Return the authority of fs.defaultFS; empty if its scheme differs."""
    found, _, rest = (properties.get("fs.defaultFS") or "").partition("://")
    return rest.partition("/")[0] if found.lower() == scheme else ""


def _is_nameservice(authority: str, properties: HadoopProperties) -> bool:
    """Return whether the properties define the authority as a nameservice."""
    return properties.get(_name_nodes_of(authority)) is not None


def _umask(properties: HadoopProperties) -> int:
    """Return the configured umask if it is octal, else Hadoop's default."""
    text = properties.get(_UMASK) or ""
    is_octal = bool(text) and set(text) <= set("01234567")
    return int(text, 8) & _FOLDER_MODE if is_octal else _DEFAULT_UMASK
