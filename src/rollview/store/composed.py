"""A store composed of the four parts of the protocol."""

from __future__ import annotations

from rollview.store.protocol import Names, Reading, Statements, Writing


class ComposedStore:
    """Implements the protocol ``Store`` by the methods of its parts."""

    def __init__(self, names: Names, reading: Reading, writing: Writing, statements: Statements) -> None:
        self.has_catalog = names.has_catalog
        self.lists_own = names.lists_own
        self.canonical = names.canonical
        self.sql_name = names.sql_name
        self.companion = names.companion
        self.owner = names.owner
        self.tables = names.tables
        self.exists = names.exists
        self.asked = names.asked
        self.sync = names.sync
        self.name_query = names.name_query
        self.forget_name = names.forget_name
        self.versioned = reading.versioned
        self.keeps_history = reading.versioned
        self.damage = reading.damage
        self.past_properties = reading.past_properties
        self.identity = reading.identity
        self.version = reading.version
        self.schema = reading.schema
        self.columns = reading.columns
        self.key = reading.key
        self.properties = reading.properties
        self.count = reading.count
        self.size = reading.size
        self.bounds = reading.bounds
        self.read = reading.read
        self.changes = reading.changes
        self.dates_changes = reading.dates_changes
        self.few_changes = reading.few_changes
        self.commits = reading.commits
        self.batches = reading.batches
        self.last_commit = reading.last_commit
        self.history = reading.history
        self.commit_mark = reading.commit_mark
        self.files = reading.files
        self.progress = reading.progress
        self.commits_between = reading.commits_between
        self.versions_at = reading.versions_at
        self.check_types = writing.check_types
        self.create = writing.create
        self.commit = writing.commit
        self.recreate = writing.recreate
        self.set_properties = writing.set_properties
        self.prune = writing.prune
        self.tidy = writing.tidy
        self.drop = writing.drop
        self.run = statements.run
        self.pass_on = statements.pass_on
