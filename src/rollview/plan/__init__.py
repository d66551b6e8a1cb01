"""Logical plans: the operators, building them from SQL, normalising and showing them. No Spark here."""
