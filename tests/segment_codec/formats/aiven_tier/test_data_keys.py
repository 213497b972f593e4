"""Private keys as files have them, and the data keys that they decrypt."""

from itertools import product

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from seglake.segment_codec.formats.aiven_tier.data_keys import decrypted_data_key, private_key
from seglake.segment_codec.formats.aiven_tier.errors import TierKeyError
from support import aiven_objects

_KEY = private_key(aiven_objects.key_file().read_bytes())
_DER = serialization.Encoding.DER
_PEM = serialization.Encoding.PEM


def pem(key: rsa.RSAPrivateKey, *, password: bytes | None = None) -> bytes:
    best = (
        serialization.NoEncryption()
        if password is None
        else (serialization.BestAvailableEncryption(password))
    )
    written: bytes = key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, best)
    return written


def test_keys_are_read_as_pem_and_der() -> None:
    key = aiven_objects.rsa_key()
    forms = serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL
    written = [
        key.private_bytes(encoding, form, serialization.NoEncryption())
        for encoding, form in product((_PEM, _DER), forms)
    ]
    assert [private_key(data) for data in written] == [_KEY] * 4


def test_keys_are_not_shown() -> None:
    assert str(_KEY) == "PrivateKey()"


def test_files_without_a_private_rsa_key_say_why() -> None:
    key = aiven_objects.rsa_key()
    public = key.public_key().public_bytes(_PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    curve = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        _PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    reasons = {
        public: "the file has a public key",
        curve: "the private key is no RSA key",
        pem(key, password=b"x"): "the key is encrypted with a passphrase",
        b"": "the file has no private key",
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n": "no private key",
    }
    for data, reason in reasons.items():
        with pytest.raises(TierKeyError, match=reason):
            private_key(data)


def test_data_key_of_another_key_is_refused() -> None:
    other = private_key(pem(rsa.generate_private_key(public_exponent=65537, key_size=2048)))
    for data in (aiven_objects.oaep(bytes(32)), b"\xff" * 256):
        with pytest.raises(TierKeyError):
            decrypted_data_key(other, data)


@pytest.mark.parametrize("message", [b"", bytes(31), bytes(33)])
def test_data_key_of_another_size_is_refused(message: bytes) -> None:
    with pytest.raises(TierKeyError, match="expected 32"):
        decrypted_data_key(_KEY, aiven_objects.oaep(message))


def test_data_key_with_another_label_is_refused() -> None:
    with pytest.raises(TierKeyError, match="encrypted for another key, or is damaged"):
        decrypted_data_key(_KEY, aiven_objects.oaep(bytes(32), b"label"))
