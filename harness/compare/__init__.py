"""Comparing learning algorithms: what varies is the training set as well."""
