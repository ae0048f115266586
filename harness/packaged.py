"""What comes with the package, found by name: outcomes tables of finished runs, a file of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import UserError

if TYPE_CHECKING:  # numpy, which stands behind it, would slow `--help` down
    from harness.outcomes import Population

POPULATIONS = {
    "rcv1-slice": "results/nips2005-slice/outcomes.csv",
    "reuters": "results/reuters21578/outcomes.csv",
    "arxiv": "results/arxiv/outcomes.csv",
}
"""Name -> where its table lies in a checkout. In a wheel it is ``harness/populations/NAME.csv``.

Two pairs of models each, for natural categories and for unions of about half of the documents.
``rcv1-slice``: trained on 7,982 documents of a part of RCV1-v2, judged on 19,631. ``reuters``: trained on the
9,603 of Reuters-21578's ModApte split, judged on its 3,299. ``arxiv``: trained on 7,982 papers, judged on
519,071.
"""


def population_file(name: str | Path) -> Path:
    """Return the file of a packaged population's name, or the path that is given.

    A known name is preferred to a file of that name in the current folder; ``./NAME`` means the file.

    Examples
    --------
    >>> population_file("rcv1-slice").suffix
    '.csv'
    >>> population_file("runs/mine/outcomes.csv").name
    'outcomes.csv'
    """
    text = str(name)
    if text in POPULATIONS:
        here = Path(__file__).resolve().parent
        for path in (here / "populations" / f"{text}.csv", here.parent / POPULATIONS[text]):
            if path.is_file():
                return path
        raise UserError(f"population={text}: its table is missing beside {here}; install the package again")
    path = Path(text)
    if not path.exists() and path.name == text and not path.suffix:
        raise UserError(
            f"population={text}: there is no such file, and no packaged population of that name; "
            f"{', '.join(POPULATIONS)} or the outcomes.csv of a finished run is needed"
        )
    return path


def predictions_file(name: str | Path) -> Path:
    """Return the file of predictions that comes with the package under this name, or the path that is given.

    ``digits``: three classifiers of scikit-learn on 899 handwritten digits, made by
    ``scripts/example_predictions.py``. ``./NAME`` means a file of the current folder.

    Examples
    --------
    >>> predictions_file("digits").name, predictions_file("./digits").name
    ('digits.csv', 'digits')
    """
    sample = Path(__file__).resolve().parent / "samples" / f"{name}.csv"
    return sample if str(name) == "digits" and sample.is_file() else Path(name)


def load_population(name: str | Path) -> list[Population]:
    """Read the populations of a packaged name, or of an outcomes table.

    `name` is ``"rcv1-slice"``, ``"reuters"`` or ``"arxiv"``, or the path of a run's ``outcomes.csv``. There
    is one population for each pair and balance. Raises UserError if there is no such population or file, or
    it cannot be read.

    Examples
    --------
    >>> one = load_population("rcv1-slice")[0]
    >>> one.pair, one.balance, one.counts.shape
    ('linear_svm-mlp', 'natural', (100, 8))
    """
    from harness.outcomes import read_outcomes

    return read_outcomes(population_file(name))
