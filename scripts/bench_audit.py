"""The preset ``audit`` beyond its sizes: seconds a set, and answers to odd sets: ``bench.py audit``."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from harness.cli.conf_files import conf_folder
from harness.cli.configuration import named_tests
from harness.seeding import rng

if TYPE_CHECKING:
    import pandas as pd

ODD = {
    "alike": [9, 0, 0, 2, 3, 0, 0, 50],
    "all right": [0, 0, 0, 0, 0, 0, 0, 64],
    "tie": [20, 3, 3, 5, 5, 2, 2, 60],
    "four to none": [2, 0, 0, 0, 0, 0, 4, 100],
}
"""Sets by what is odd: A and B decide alike; and rightly; each errs alone as often; four errors, all A's."""
SHARES = np.array([26, 7, 10, 13, 9, 4, 4, 927]) / 1000
"""Cells e1..e8 of the sets that are timed, near those of C13 and its linear SVM and MLP."""


def audited() -> list[str]:
    """Return the names of the preset's tests."""
    preset = yaml.safe_load((conf_folder() / "experiment" / "audit.yaml").read_text(encoding="utf-8"))
    (names,) = (entry["override /test"] for entry in preset["defaults"] if "override /test" in entry)
    return names


def make(name: str, n_replicates: int) -> Any:
    """Return a test as a function of counts alone, with a generator of its own if it draws."""
    (test,) = named_tests([name], n_replicates=n_replicates)
    options = {"rng": rng(0, "audit", name)} if test.random else {}
    return lambda counts: test.pvalue(np.asarray(counts), **options)


def conventions(names: Sequence[str], n_replicates: int = 1000) -> "pd.DataFrame":
    """Return what each test answers to each odd set: p or "not a number", and what its package warns of.

    One of ours that has no verdict of its own gives p = 1 and says so in `degenerate`.
    """
    import pandas as pd

    rows = []
    for name in names:
        result = make(name, n_replicates)(list(ODD.values()))
        warned = getattr(result, "warned", np.full(len(ODD), ""))
        for case, p, degenerate, said in zip(ODD, result.pvalue, result.degenerate, warned, strict=True):
            none = degenerate and hasattr(result, "warned")  # ours have p = 1 there
            answer = "not a number" if none else f"{p:.3f}".replace("0.", ".")
            rows.append((name, case, answer, bool(degenerate), str(said)))
    return pd.DataFrame(rows, columns=["test", "case", "answer", "degenerate", "warned"])


def milliseconds(
    names: Sequence[str], sizes: Sequence[int], n_replicates: int = 1000, n_sets: int = 4
) -> "pd.DataFrame":
    """Return the processor time that each test takes a set, the better of two rounds of different sets."""
    import pandas as pd

    rows = []
    for name in names:
        test = make(name, n_replicates)
        for n in sizes:
            rounds = rng(0, "audit", "timed", n).multinomial(n, SHARES, (3, n_sets))
            test(rounds[0])  # imports, and what is kept from call to call
            spent = []
            for counts in rounds[1:]:
                start = time.process_time()
                test(counts)
                spent.append((time.process_time() - start) / n_sets * 1000)
            rows.append((name, n, n_replicates, float(f"{min(spent):.3g}")))
    return pd.DataFrame(rows, columns=["test", "n_documents", "n_replicates", "milliseconds"])


def bench_audit(options: argparse.Namespace) -> None:
    """Print both tables, and leave them as CSV in a folder if one is named."""
    names = audited()
    tables = {"conventions": conventions(names), "seconds": milliseconds(names, options.sizes)}
    for name, table in tables.items():
        print(table.to_string(index=False), "\n")
        if options.out is not None:
            table.to_csv(Path(options.out) / f"{name}.csv", index=False, lineterminator="\n")
