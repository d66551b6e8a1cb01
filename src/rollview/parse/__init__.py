"""From text to statements: scripts, names, statements and the tables that a query reads. No Spark here."""
