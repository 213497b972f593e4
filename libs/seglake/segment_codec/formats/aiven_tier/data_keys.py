"""Decrypts the data keys of encrypted segments with a private RSA key.

The padding is OAEP with SHA3-512 for label and mask, and an empty label. The package `cryptography`
supports OAEP only with older hashes, so the padding is removed here. The package parses the private
key. It is optional: without it, a TierKeyError is raised.

Source: Aiven-Open/tiered-storage-for-apache-kafka 8fb1581, RsaEncryptionProvider.java; RFC 8017,
section 7.1.2.
"""

import hashlib
from dataclasses import dataclass, field

from seglake.segment_codec.formats.aiven_tier.errors import TierKeyError

_HASH_BYTES = 64
_LABEL_HASH = hashlib.sha3_512(b"").digest()
_DATA_KEY_BYTES = 32
_OTHER_KEY = "the data key was encrypted for another key, or is damaged"
NO_PACKAGE = "it needs the package cryptography: pip install '.[tiered]' in seglake's folder"


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A private RSA key; its repr hides it."""

    first_prime: int = field(repr=False)
    second_prime: int = field(repr=False)
    exponent: int = field(repr=False)

    @property
    def modulus(self) -> int:
        """Return the RSA modulus; encrypted numbers are below it."""
        return self.first_prime * self.second_prime

    @property
    def size_bytes(self) -> int:
        """Return the size of an encrypted message in bytes, which is the size of the modulus."""
        return -(-self.modulus.bit_length() // 8)

    def decrypted(self, message: int) -> int:
        """Decrypt a number with the private key; the Chinese remainder theorem makes it faster.

        Args:
            message: the encrypted number, below the modulus.
        """
        p, q = self.first_prime, self.second_prime
        one = pow(message, self.exponent % (p - 1), p)
        other = pow(message, self.exponent % (q - 1), q)
        return other + q * (pow(q, -1, p) * (one - other) % p)


def private_key(data: bytes) -> PrivateKey:
    """Parse a private key in PKCS#8 or PKCS#1, as PEM or DER.

    Raises:
        TierKeyError: there is no readable private RSA key, or `cryptography` is missing.
    """
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    except ImportError:
        raise TierKeyError(NO_PACKAGE) from None
    if b"-----BEGIN PUBLIC KEY-----" in data or b"-----BEGIN RSA PUBLIC KEY-----" in data:
        raise TierKeyError("the file has a public key; only the private key can decrypt")
    is_text = data.lstrip().startswith(b"-----BEGIN")
    load = serialization.load_pem_private_key if is_text else serialization.load_der_private_key
    try:
        found = load(data, password=None)
    except TypeError:
        raise TierKeyError("the key is encrypted with a passphrase; store it without one") from None
    except (ValueError, UnsupportedAlgorithm):
        raise TierKeyError("the file has no private key in PKCS#8 or PKCS#1") from None
    if not isinstance(found, RSAPrivateKey):
        raise TierKeyError("the private key is no RSA key")
    numbers = found.private_numbers()
    return PrivateKey(numbers.p, numbers.q, numbers.d)


def decrypted_data_key(key: PrivateKey, encrypted: bytes) -> bytes:
    """Decrypt a data key.

    Raises:
        TierKeyError: the data key was encrypted for another key, or is damaged.
    """
    size_bytes = key.size_bytes
    number = int.from_bytes(encrypted, "big")
    if len(encrypted) != size_bytes or number >= key.modulus:
        raise TierKeyError(_OTHER_KEY)
    padded = key.decrypted(number).to_bytes(size_bytes, "big")
    seed = _xor(padded[1 : 1 + _HASH_BYTES], _mask(padded[1 + _HASH_BYTES :], _HASH_BYTES))
    block = _xor(padded[1 + _HASH_BYTES :], _mask(seed, size_bytes - 1 - _HASH_BYTES))
    one, message = block[_HASH_BYTES:].lstrip(b"\0")[:1], block[_HASH_BYTES:].lstrip(b"\0")[1:]
    if padded[0] or block[:_HASH_BYTES] != _LABEL_HASH or one != b"\1":
        raise TierKeyError(_OTHER_KEY)
    if len(message) != _DATA_KEY_BYTES:
        raise TierKeyError(f"a data key of {len(message)} bytes, expected {_DATA_KEY_BYTES}")
    return message


def _mask(seed: bytes, size_bytes: int) -> bytes:
    """Return the OAEP mask (MGF1 of RFC 8017) for a seed."""
    count = -(-size_bytes // _HASH_BYTES)
    parts = (hashlib.sha3_512(seed + number.to_bytes(4, "big")).digest() for number in range(count))
    return b"".join(parts)[:size_bytes]


def _xor(one: bytes, other: bytes) -> bytes:
    """Combine two byte strings of the same length by XOR."""
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
