"""Small runs without what takes most of their time: painting, drawing, waiting for the disk."""

import os
from contextlib import contextmanager

import pytest


@contextmanager
def unpainted():
    """Figures are laid out but not painted, for tests of something else."""
    from PIL import Image

    def save(figure, target, *, format, **options):  # noqa: A002
        Image.new("RGB", (30, 20), "white").save(target, format)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matplotlib.figure.Figure.savefig", save)
        yield


@contextmanager
def undrawn():
    """Runs that leave no figure, for tests that look at tables alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harness.drawing.save._draw", lambda stem, build, **options: ("", []))
        yield


@contextmanager
def unsynced():
    """Files are written but need not reach the disk: no test ends in a power cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield
