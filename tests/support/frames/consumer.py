"""Results of Kafka's consumer for each frame, from `consumer.toml`."""

import tomllib
from functools import cache
from pathlib import Path


@cache
def consumed(magic: int) -> dict[str, str]:
    """Return the consumer's result by frame: `all` for every record, or the name of the error."""
    with Path(__file__).with_name("consumer.toml").open("rb") as file:
        found: dict[str, str] = tomllib.load(file)[f"magic_{magic}"]
    return found
