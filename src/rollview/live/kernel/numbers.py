"""Where everything is: in the arena, in the plan that a kernel follows, in its state, and in a changed row.

The *arena* holds a graph. The *plan* is made once of a shape (``plan.py``). The *state* is what a kernel remembers when
it stops because its output is full.
"""

from __future__ import annotations

# The arena's first words: where fresh memory begins, the range from which small pieces are taken, and what there is.
TOP, FROM, UNTIL, VERTEX_VALUES, JOIN_TUPLES, PROJECTED, VISITED = 0, 1, 2, 3, 4, 5, 6
#: The heads of the lists of free pieces, by size class.
FREE = 8
#: Pieces of up to this many words have a list for each size.
SMALL = 64
#: The words of a chunk, from which small pieces are cut.
CHUNK = 8192
#: Lists of larger pieces: of 96, 128, 192, 256, 384 words and so on.
LARGE = 84
#: A description for each table: where it is, its size − 1, how many entries it has.
TABLES = FREE + SMALL + LARGE + 1
TABLE_WORDS = 3

# The plan's first words.
LOOK_AHEAD, PARTS, VERTICES, FIELDS, SUMS, DELTA, NULLS_OUT = range(7)
NONE, LOCAL, GLOBAL = 0, 1, 2
HEAD = 8

# Of a part: its sides, whether it has only one, the words of a projected tuple's fields, its sums, its words in all;
# the words of a join tuple, its table; where its sums are in the output, its fields and all in a changed row; its
# steps, where they and its sides are in the plan; which of its words are put out: how many, and where this is in the
# plan; the same of its bits for NULL, and where their word is; the words that a row takes at most, without what grows.
SIDES, LEAF, WIDTH, PUSHED, STRIDE, TUPLE, TABLE, OUT_SUMS, IN_FIELDS, IN_WIDTH, STEPS, STEPS_AT, SIDES_AT = range(13)
SHOWN, SHOWN_AT, BITS, BITS_AT, NULLS, ROOM = range(13, 19)
PART_WORDS = 19
# Of a word that is put out: where it is in the fields, and its column. Of a bit: its number, and that in the output.
PAIR_WORDS = 2
# Of a part's side: its vertex, the part's slot in a vertex value, where the key is in a changed row.
VERTEX, SLOT, IN_KEY = 0, 1, 2
SIDE_WORDS = 3
# Of a vertex: the words of its key, of a value, its table, its parts, and where they are in the plan.
KEY, VALUE, VALUE_TABLE, MEMBERS, MEMBERS_AT = 0, 1, 2, 3, 4
VERTEX_WORDS = 5
# Of a vertex's part: its number, its slot, whether it has only one side, its side here.
MEMBER, MEMBER_SLOT, MEMBER_LEAF, MEMBER_SIDE = 0, 1, 2, 3
MEMBER_WORDS = 4
# Of a step: from which part, by which of its sides, to which part, its slot, whether it has only one side, and the step
# that chooses the part it starts from.
SOURCE, SIDE, TARGET, TARGET_SLOT, TARGET_LEAF, CHOSEN = 0, 1, 2, 3, 4, 5
STEP_WORDS = 6

#: The most parts that a graph has.
MOST_PARTS = 32
# The state: the row or place that a kernel is at, what it does there, how many rows it has put out, the step, the place
# in the last part's projected tuples, how many other parts have several, the join tuple, whether it must be removed;
# the most words of the arena that the next row takes, if fewer are free; and the places that were looked up beforehand.
ROW, PHASE, DONE, STEP, INNER, SEVERAL, ITEM, GOES, WANTED, SEEN = range(10)
# What it does: the next row, a traversal, a traversal at a completed path.
NEXT, WALKING, WRITING = 0, 1, 2
# For each step, the place in its list; for each part, where its projected tuples are, its join tuple, the chosen one of
# its projected tuples, its count, its bits for NULL; the parts that have several; the vertex values of the first part.
AT = 10
HAS, CHOICE, PLACE, COUNT, ZEROS, MANY, VALUES = (AT + MOST_PARTS * i for i in range(1, 8))
#: The places that were looked up beforehand.
LOOKED = AT + MOST_PARTS * 8
#: An arena of more words than this is larger than the cache of the processor: then this many rows are looked up before
#: they are applied one after the other.
CACHED, WARM = 1 << 16, 64
#: The columns of the path so far.
PATH = LOOKED + WARM
