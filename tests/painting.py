"""Figures that are laid out but not painted, for tests of something else: painting is most of a small run."""

from contextlib import contextmanager

import pytest


@contextmanager
def unpainted():
    from PIL import Image

    def save(figure, target, *, format, **options):  # noqa: A002
        Image.new("RGB", (30, 20), "white").save(target, format)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matplotlib.figure.Figure.savefig", save)
        yield
