"""SQL and nothing else: tables, one file per aggregate, group commit, the change feed, migrations."""
