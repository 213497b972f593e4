"""What the errors of places have in common."""

import pickle

from seglake.errors import SeglakeError
from seglake.storage.errors import NotFoundError, PlaceError, StorageError, StoreSilentError


def test_errors_share_one_base() -> None:
    assert issubclass(NotFoundError, StorageError)
    assert issubclass(StorageError, SeglakeError)


def test_whoever_goes_on_without_one_file_does_not_go_on_with_a_silent_store() -> None:
    assert issubclass(StoreSilentError, PlaceError)
    assert not issubclass(StoreSilentError, StorageError)
    silent = StoreSilentError(action="read", path="x", reason="y")
    assert str(silent) == str(StorageError(action="read", path="x", reason="y"))
    copy = pickle.loads(pickle.dumps(silent))
    assert (str(copy), copy.path) == (str(silent), "x")
