"""Names of algorithms, made to fit beside a figure."""

from __future__ import annotations

from harness.drawing.layout import text_width

SMALLEST = 5.5  # points


def fit_label(name: str, end: str, width: float, size: float = 7.5, bold: bool = False) -> tuple[str, float]:
    """Return `name` followed by `end`, and the size in points at which they are no wider than `width` inches.

    Below 5.5 points the middle of the name is left out instead.

    Examples
    --------
    >>> fit_label("svm", " 1.50", 2)
    ('svm 1.50', 7.5)
    >>> fit_label("a" * 20 + "b" * 20, " 1.5", 1)[0]
    'aaaaaaaa…bbbbbbbb 1.5'
    """
    label = name + end
    fitting = size * width / text_width(label, size, bold)
    if fitting >= SMALLEST:
        return label, min(size, fitting)
    kept = len(name)
    while kept > 2 and text_width(label, SMALLEST, bold) > width:
        kept -= 1
        label = name[: -(-kept // 2)] + "…" + name[len(name) - kept // 2 :] + end
    return label, SMALLEST
