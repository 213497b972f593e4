"""The kinds of hostile input. A kind, a seed and a number give an input, everywhere the same."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from torture.hostile import bits, bombs, internal_records, log_dirs, segments, side_files


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind.

    Attributes:
        share: of the time of a campaign, beside those of the others.
        check: raises where a promise is broken; returns how many batches or files it looked at.
        cpu_seconds: the longest that one input may take.
    """

    name: str
    share: float
    make: Callable[[int, int], bytes]
    check: Callable[[bytes], int]
    cpu_seconds: float = 5.0  # one input at most: the first one also loads compiled code


def _drawn(name: str, draw: Callable[[Random], bytes]) -> Callable[[int, int], bytes]:
    return lambda seed, number: draw(Random(f"{name} {seed} {number}"))


def _kind(
    name: str, share: float, draw: Callable[[Random], bytes], check: Callable[[bytes], int]
) -> Kind:
    return Kind(name=name, share=share, make=_drawn(name, draw), check=check)


def _bits(name: str, nth: Callable[[int], bytes]) -> Kind:
    """The same bits with each seed."""
    return Kind(name=name, share=1, make=lambda _, number: nth(number), check=bits.check)


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        _kind("lying", 5, segments.lying, segments.check),
        _kind("damaged", 3, segments.damaged, segments.check_damaged),
        _kind("resealed", 3, segments.resealed, segments.check),
        _kind("side_files", 2, side_files.draw, side_files.check),
        _kind("internal_records", 1, internal_records.draw, internal_records.check),
        _bits("bits", bits.nth_made),
        _bits("bits_of_brokers", bits.nth_of_brokers),
        _kind("log_dirs", 2, log_dirs.draw, log_dirs.check),
        Kind(
            name="bombs",
            share=1,
            make=_drawn("bombs", bombs.draw),
            check=bombs.check,
            cpu_seconds=160.0,  # of all walks; each has its own limit
        ),
    )
}
