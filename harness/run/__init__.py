"""The command ``harness run``: the size/power study, its figures and its findings."""
