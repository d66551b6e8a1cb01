"""The rows that commits changed, in this process: several commits apart, and the two rows of an update together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rollview.store.protocol import CHANGE_TYPE, COMMIT_VERSION, UPDATE_AFTER, UPDATE_BEFORE, Commit, CommitRows


def by_commit(
    commits: Iterable[Commit], feed: pa.Table, columns: Sequence[str], key: Sequence[str]
) -> Iterator[CommitRows]:
    """A feed of several commits as the rows of each, oldest first. The feed has these columns, those of the key, the
    kind and the version."""
    for commit in sorted(commits, key=lambda each: each.version):
        own = feed.filter(pc.equal(feed.column(COMMIT_VERSION), commit.version))
        yield CommitRows(commit, paired(own, columns, key))


def paired(rows: pa.Table, columns: Sequence[str], key: Sequence[str]) -> pa.Table:
    """The rows of one commit in these columns and the kind, with the two rows of an update that kept the key side by
    side."""
    wanted = rows.select([*columns, CHANGE_TYPE])
    if not key:
        return wanted
    kinds = rows.column(CHANGE_TYPE).to_pylist()
    if UPDATE_AFTER not in kinds:
        return wanted
    keys = list(zip(*(rows.column(name).to_pylist() for name in key), strict=True))
    after = {keys[at]: at for at, kind in enumerate(kinds) if kind == UPDATE_AFTER}
    order: list[int] = []
    left = []
    for at, kind in enumerate(kinds):
        if kind == UPDATE_BEFORE and keys[at] in after:
            order += [at, after.pop(keys[at])]
        elif kind != UPDATE_AFTER:
            left.append(at)
    return wanted.take([*order, *left, *after.values()])
