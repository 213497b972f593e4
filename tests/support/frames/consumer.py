"""What Kafka's consumer gave for each frame, as `consumer.toml` has it."""

import tomllib
from functools import cache
from pathlib import Path


@cache
def consumed(magic: int) -> dict[str, str]:
    """By frame: `all` where the consumer gives every record, else what it throws."""
    with Path(__file__).with_name("consumer.toml").open("rb") as file:
        found: dict[str, str] = tomllib.load(file)[f"magic_{magic}"]
    return found
