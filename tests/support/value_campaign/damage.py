"""Damages bytes, as a disk or a faulty producer may."""

from random import Random


def damaged(random: Random, body: bytes) -> bytes:
    """The bytes, cut, changed, grown, repeated or with a part moved."""
    content = bytearray(body)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        at = random.randrange(len(content) + 1)
        match random.choice(("cut", "flip", "grow", "set", "repeat", "drop")):
            case "cut":
                del content[at:]
            case "flip" if at < len(content):
                content[at] ^= 1 << random.randrange(8)
            case "grow":
                content[at:at] = random.randbytes(random.randrange(1, 4))
            case "set" if at < len(content):
                content[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF))
            case "repeat":
                content += content[at:]
            case _:
                del content[at : at + 1]
    return bytes(content)
