"""What a kernel puts out: the words of all parts, or, if they are what the view shows, rows of the view at once."""

from __future__ import annotations

from dataclasses import dataclass

from rollview.live.shape import Shape


@dataclass(frozen=True)
class Shown:
    """For each part, which words go to which column, and which bit of its word for NULLs to which of the output's.

    ``nulls`` is the output's column for NULLs, −1 if there is none. ``rows`` says whether these are rows of the view;
    ``distinct``, whether those of different paths differ."""

    words: tuple[tuple[tuple[int, int], ...], ...]
    bits: tuple[tuple[tuple[int, int], ...], ...]
    columns: int
    nulls: int
    rows: bool
    distinct: bool


def shown(shape: Shape) -> Shown:
    """What a kernel puts out for a view."""
    return _rows(shape) if _is_plain(shape) else _paths(shape)


def _paths(shape: Shape) -> Shown:
    words, columns = [], 0
    for part in shape.parts:
        words.append(tuple((i, columns + i) for i in range(part.layout.width)))
        columns += part.layout.width
    return Shown(tuple(words), tuple(() for _ in shape.parts), columns, -1, rows=False, distinct=False)


def _is_plain(shape: Shape) -> bool:
    """Whether the view shows columns of its paths as they are, of all paths."""
    if shape.grouping is not None or shape.residual:
        return False
    kinds = {name: kind for part in shape.parts for name, kind in part.fields}
    output = shape.output
    same = all(v.key == "column" and kinds[v.name] == k for v, k in zip(output.values, output.kinds, strict=True))
    return same and output.layout.flags == 1 and all(part.layout.flags <= 1 for part in shape.parts)


def _rows(shape: Shape) -> Shown:
    words: list[list[tuple[int, int]]] = [[] for _ in shape.parts]
    bits: list[list[tuple[int, int]]] = [[] for _ in shape.parts]
    places = {name: (part, i) for part in shape.parts for i, (name, _) in enumerate(part.fields)}
    layout = shape.output.layout
    for column, value in enumerate(shape.output.values):
        part, i = places[value.name]
        for word in range(layout.kinds[column].width):
            words[part.number].append((part.layout.places[i] + word, layout.places[column] + word))
        bits[part.number].append((i, column))
    return Shown(
        tuple(map(tuple, words)),
        tuple(map(tuple, bits)),
        layout.width,
        layout.width - 1,
        rows=True,
        distinct=_is_distinct(shape),
    )


def _is_distinct(shape: Shape) -> bool:
    """Whether a row of the view tells its path: the fields of all parts are shown, and of each vertex the value."""
    if {value.name for value in shape.output.values} != {name for part in shape.parts for name, _ in part.fields}:
        return False
    return all(
        any(_key(shape, part, vertex.number)[i] in dict(shape.parts[part].fields) for part in vertex.parts)
        for vertex in shape.vertices
        for i in range(len(vertex.kinds))
    )


def _key(shape: Shape, part: int, vertex: int) -> tuple[str, ...]:
    own = shape.parts[part]
    return own.keys[own.vertices.index(vertex)]
