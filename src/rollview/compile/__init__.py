"""From plans to SQL: one CTE per operator, in three dialects."""
