"""What a live view holds and costs, as text."""

from __future__ import annotations

from collections.abc import Iterator

from rollview.live import memory
from rollview.live.definition import Definition
from rollview.live.shape import Part, Shape
from rollview.live.state import State
from rollview.plan.expressions import show


def explained(state: State) -> str:
    """The explanation of a live view."""
    return "\n".join(_lines(state))


def _lines(state: State) -> Iterator[str]:
    definition, shape = state.definition, state.definition.shape
    yield f"live view {definition.title}"
    yield "  query"
    yield from (f"    {line}" for line in definition.view.query.text.strip().splitlines())
    columns = zip(definition.labels, definition.types, strict=True)
    yield f"  columns\n    {', '.join(f'{name} {kind}' for name, kind in columns)}"
    yield f"  key\n    {_key(definition)}"
    shown = ", ".join(f"{table} at version {identity.version}" for table, identity in state.place.vector.items())
    yield f"  shows\n    {shown}"
    mode = "push: each change is turned into a diff" if state.push else "warehouse: only the graph is kept"
    yield f"  mode\n    {mode}"
    yield "  parts"
    yield from (f"    {line}" for part in shape.parts for line in _part(part, shape))
    yield from _joins(shape)
    if shape.residual:
        yield f"  checked on completed paths\n    {' AND '.join(map(show, shape.residual))}"
    if shape.grouping is not None:
        yield "  groups"
        yield f"    by {', '.join(name for name, _, _ in shape.grouping.keys) or 'nothing: one group'}"
        yield f"    {', '.join(_result(each.function, each.pushed) for each in shape.grouping.results)}"
    yield "  found without looking at other rows"
    yield f"    by {'; '.join(lookups(definition)) or 'nothing: a look-up visits all rows'}"
    yield from _sizes(state)


def _key(definition: Definition) -> str:
    if definition.key is None:
        return "none: equal rows are counted, and there are no upserts"
    return ", ".join(definition.labels[place] for place in definition.key) or "one row"


def _part(part: Part, shape: Shape) -> Iterator[str]:
    kept = ", ".join(name for name, _ in part.fields) or "nothing but counts"
    yield f"{part.title}: keeps {kept}"
    if part.filters:
        yield f"  where {' AND '.join(map(show, part.filters))}"
    if part.pushed:
        yield f"  sums of {', '.join(each.column for each in part.pushed)}"


def _joins(shape: Shape) -> Iterator[str]:
    if not shape.vertices:
        return
    yield "  vertices"
    for vertex in shape.vertices:
        joined = ", ".join(shape.parts[number].title for number in vertex.parts)
        yield f"    {vertex.title}: {joined}"
    yield "  steps after a change of"
    for part, steps in zip(shape.parts, shape.steps, strict=True):
        yield f"    {part.title}: {' → '.join([part.title, *(shape.parts[step.target].title for step in steps)])}"


def _result(function: str, pushed: bool) -> str:
    return f"{function} {'of sums in the graph' if pushed else 'of completed paths'}"


def lookups(definition: Definition) -> list[str]:
    """The columns by which rows are found without looking at all others."""
    shape, output = definition.shape, definition.shape.output
    shown = {
        value.name: label for value, label in zip(output.values, output.labels, strict=True) if value.key == "column"
    }
    found = []
    if shape.grouping is not None:
        keys = [name for name, _, _ in shape.grouping.keys]
        if keys and set(keys) <= shown.keys():
            found.append(", ".join(shown[name] for name in keys))
        shown = {column: shown[name] for name, column, _ in shape.grouping.keys if name in shown}
    for part in shape.parts:
        for key in part.keys:
            if set(key) <= shown.keys():
                found.append(", ".join(shown[name] for name in key))
    return list(dict.fromkeys(found))


def _sizes(state: State) -> Iterator[str]:
    with state.reading() as core:
        size, held = core.graph.size(), core.bytes
    rows = ", ".join(f"{count:,} of {table}" for table, count in state.counts.items())
    yield "  holds"
    yield (
        f"    {size.vertex_values:,} vertex values, {size.join_tuples:,} join tuples, "
        f"{size.projected_tuples:,} projected tuples"
    )
    yield f"    {len(state.core.interner):,} strings and other values without a fixed width"
    yield f"    about {memory.shown(held)}; when it was made, {memory.shown(state.estimate)} were expected for {rows}"
    yield f"    up to {memory.shown(memory.most(state.limits, held))} are allowed"
    yield f"  subscriptions\n    {len(state.subscribers)}"
