"""Running SELECTs on Spark: sessions, named relations, and Spark's errors in our words."""
