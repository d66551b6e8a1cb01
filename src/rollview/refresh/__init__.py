"""Keeping views equal to their queries: definitions, vectors, refreshing, verifying, explaining."""
