"""What the tests of storages share."""

import pytest
from obstore.store import MemoryStore

from seglake.storage import s3_storage
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.s3_storage import S3Storage


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> S3Storage:
    """S3 in obstore's own store in memory; tests/services has real servers."""
    store = MemoryStore()
    monkeypatch.setattr(s3_storage, "client_of", lambda access: store)
    return S3Storage(HadoopProperties({}))
