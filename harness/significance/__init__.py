"""Significance tests, one file per family; each is a function of the eight counts."""
