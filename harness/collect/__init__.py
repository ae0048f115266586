"""The command ``harness collect``: the tables of many runs as one, and what their spread says."""
