"""The promises of the store protocol as tests, for anybody who writes a store.

A class of tests for pytest inherits ``Promises`` and has a fixture ``bench``::

    class TestMyStore(Promises):
        @pytest.fixture
        def bench(self) -> Bench:
            return Bench(MyStore(…), engine)

| file | what it does |
|---|---|
| ``bench.py`` | a store to be tested, with an engine that makes and reads rows |
| ``promises.py`` | tables, versions, changes, commits, keys, history |
| ``edit_promises.py`` | what each edit does, alone and after others |
| ``interpreter.py`` | edits over lists of rows: what they mean, in a few lines |
| ``histories.py`` | random histories of edits, compared with the interpreter |
"""

from rollview.store.conformance.bench import Bench
from rollview.store.conformance.edit_promises import EditPromises
from rollview.store.conformance.histories import follow
from rollview.store.conformance.promises import TablePromises


class Promises(TablePromises, EditPromises):
    """All promises."""


__all__ = ["Bench", "EditPromises", "Promises", "TablePromises", "follow"]
