"""What the tests of the codec share."""

import pytest

from support.decoders import DECODERS, Decoder


@pytest.fixture(params=list(DECODERS.values()), ids=list(DECODERS))
def decoder(request: pytest.FixtureRequest) -> Decoder:
    """The plain decoder, then the compiled one."""
    found: Decoder = request.param
    return found
