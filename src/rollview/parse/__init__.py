"""From text to statements: scripts, names, statements, and the tables that a query names. No Spark here.

| file | what it does |
|---|---|
| ``tokens.py`` | a cursor over the tokens of a statement, which returns the text between two of them |
| ``names.py`` | names of tables and views, parsed and quoted |
| ``tree.py`` | a query as a sqlglot tree, the same for all spellings |
| ``spelling.py`` | Spark's spellings that sqlglot's parser does not know |
| ``tables.py`` | statements that create and change tables |
| ``views.py`` | statements about materialized views |
| ``durations.py`` | lengths of time: ``7 days`` |
| ``references.py`` | the tables that a query names, and their places in the text |
| ``reads.py`` | the tables that a statement reads |
| ``parameters.py`` | values in place of ``:name`` and ``?`` |
| ``stored_names.py`` | the names of the tables that store views |
| ``mistakes.py`` | sqlglot's syntax errors, translated |
| ``logs.py`` | keeps libraries from logging what rollview reports itself |
"""
