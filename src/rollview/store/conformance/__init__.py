"""The promises of the store protocol as tests, for the author of a store.

A test class for pytest inherits ``Promises`` and has a fixture ``bench``::

    class TestMyStore(Promises):
        @pytest.fixture
        def bench(self) -> Bench:
            return Bench(MyStore(…), engine)

| file | what it does |
|---|---|
| ``bench.py`` | the store under test, with an engine that creates and reads rows |
| ``promises.py`` | tables, versions, changes, commits, keys, history |
| ``edit_promises.py`` | what each edit does, alone and after others |
| ``progress_promises.py`` | what was committed since a version; rows of this process; tidying |
| ``following_promises.py`` | rows and commits read into this process |
| ``interpreter.py`` | the meaning of edits, over lists of rows |
| ``histories.py`` | random histories of edits, compared with the interpreter |
"""

from rollview.store.conformance.bench import Bench
from rollview.store.conformance.edit_promises import EditPromises
from rollview.store.conformance.following_promises import FollowingPromises
from rollview.store.conformance.histories import follow
from rollview.store.conformance.progress_promises import ProgressPromises
from rollview.store.conformance.promises import TablePromises


class Promises(TablePromises, ProgressPromises, FollowingPromises, EditPromises):
    """All promises."""


__all__ = ["Bench", "EditPromises", "FollowingPromises", "ProgressPromises", "Promises", "TablePromises", "follow"]
