"""Recompute published and simulated reference values with the library, and say which come out.

    python scripts/validate.py [--quick] [--only SECTION ...]
    python scripts/validate.py advise [--n-populations N]
    python scripts/validate.py clusters FOLDER
    python scripts/validate.py ends FOLDER
    python scripts/validate.py macro FOLDER
    python scripts/validate.py margin FOLDER
    python scripts/validate.py scores FOLDER
    python scripts/validate.py many FOLDER
    python scripts/validate.py runs FOLDER

Prints measured value, reference, tolerance and verdict of every row; exits with 1 if a row is outside.
What can be enumerated must equal the reference to its printed digits; where such sizes are measured on
100,000 drawn sets, the 99.9 % binomial interval must hold them. Where the reference is simulated itself, the
difference is at most 3.5 of its standard errors, ``3.5 sqrt(SE_ref^2 + SE^2)``. The references, with their
sources, are in ``reference_values.json`` beside this file. ``--quick`` simulates fewer sets. ``advise``
proves the advice of ``harness advise`` instead, on populations that are known, ``clusters`` that on items in
clusters, ``margin`` that on a margin, ``macro`` that on macro F1, ``ends`` the intervals of what is seen,
``scores`` measures the tests of scores, ``many`` the comparison of many systems, and ``runs`` the test of
several runs.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import validate_advise
import validate_clusters
import validate_ends
import validate_exact as exact
import validate_macro
import validate_many
import validate_margin
import validate_runs
import validate_scores
import validate_simulated as simulated

from harness.intervals import clopper_pearson

REFERENCES = Path(__file__).with_name("reference_values.json")


class Row(NamedTuple):
    """One comparison; `ok` where ``|measured - reference| <= tolerance``."""

    section: str
    name: str
    measured: float
    reference: float
    tolerance: float

    @property
    def ok(self) -> bool:
        """Return whether the measured value is near enough."""
        return bool(abs(self.measured - self.reference) <= self.tolerance)


def printed(section: str, name: str, measured: float, reference: float, digits: int) -> Row:
    """Return the row of an enumerated value: equal to so many decimals (all of a whole number)."""
    tolerance = 0.0 if isinstance(reference, int) else 0.5 * 10.0**-digits * (1 + 1e-6)
    return Row(section, name, float(measured), reference, tolerance)


def standard_error(rate: float, n_sets: int) -> float:
    """Return that of a share of n sets, as if two more had been counted and two more not.

    A share of 0 in 1000 sets would have none at all otherwise.
    """
    rate = (rate * n_sets + 2) / (n_sets + 4)
    return float(np.sqrt(rate * (1 - rate) / (n_sets + 4)))


def share(section: str, name: str, measured: float, n_sets: int, reference: float, n_reference: int) -> Row:
    """Return the row of a simulated share of sets whose reference is one too."""
    error = np.hypot(standard_error(measured, n_sets), standard_error(reference, n_reference))
    return Row(section, name, measured, reference, float(3.5 * error))


def check_fagerland(reference: dict[str, Any], quick: bool) -> Iterator[Row]:
    measured = exact.fagerland()
    for name, value in reference["values"].items():
        yield printed("fagerland", name, measured[name], value, reference["digits"])


def check_poisson(reference: dict[str, Any], quick: bool) -> Iterator[Row]:
    for mean, values in reference["sizes"].items():
        for test, value in zip(reference["tests"], values, strict=True):
            size = exact.poisson_size(test, float(mean))
            yield printed("poisson", f"size, lambda {mean}, {test}", size, value, reference["digits"])
    title = "fewest one-sided discordances that reject"
    for test, value in zip(reference["tests"], reference[title], strict=True):
        yield printed("poisson", f"{title}, {test}", exact.fewest_discordances(test), value, 0)


def check_mcnemar(reference: dict[str, Any], quick: bool) -> Iterator[Row]:
    for name, value in reference["values"].items():
        pvalue = exact.mcnemar_pvalue(1, 7, name.rpartition(" ")[2])
        yield printed("mcnemar", name, pvalue, value, reference["digits"])
    for n, p, sizes in reference["sizes"]:
        for variant, value in sizes.items():
            size = exact.mcnemar_size(variant, n, p)
            yield printed("mcnemar", f"size, N {n}, p {p}, {variant}", size, value, reference["size digits"])
    right, wrong = exact.mcnemar_power(100, 0.5, 0.3)
    for name, power, digits in (("right", right, 6), ("wrong", wrong, 11)):
        value = reference["power"][f"{name} direction"]
        yield printed("mcnemar", f"power, N 100, .5 against .3, {name} direction", power, value, digits)


def check_goutte(reference: dict[str, Any], quick: bool) -> Iterator[Row]:
    measured = exact.goutte()
    for name, value in reference["values"].items():
        yield printed("goutte", name, measured[name], value, reference["digits"])
    for name, (value, error) in reference["simulated"].items():
        chance = measured[name.replace("as printed", "exact")]
        yield Row("goutte", name, chance, value, 3.5 * error)


def check_demsar(reference: dict[str, Any], quick: bool) -> Iterator[Row]:
    measured = exact.demsar(reference["scores"])
    for name, value in reference["values"].items():
        yield printed("demsar", name, measured[name], value, reference["digits"])


def check_hold_out(reference: dict[str, Any], quick: bool) -> Iterator[Row]:
    measured = exact.hold_out()
    for name, value in reference["values"].items():
        yield printed("hold-out", name, measured[name], value, reference["digits"])


def check_drawn(reference: dict[str, Any], quick: bool) -> Iterator[Row]:
    n_sets = reference["n_sets"]
    for i, (population, n, wrong, values) in enumerate(reference["sizes"]):
        generator = np.random.default_rng([2013, i])
        for test, n_rejected in simulated.drawn(n, wrong, n_sets, list(values), generator).items():
            low, high = clopper_pearson(n_rejected, n_sets, reference["confidence"])
            measured, value = n_rejected / n_sets, values[test]
            reach = high - measured if value > measured else measured - low
            yield Row("drawn", f"{population}, {test}", measured, value, float(reach))


def check_dietterich(reference: dict[str, Any], quick: bool) -> Iterator[Row]:
    n_sets = 20_000 if quick else 100_000
    for halves in ("exact halves", "random halves"):
        measured = simulated.dietterich(
            n_sets, halves == "exact halves", np.random.default_rng([1998, n_sets])
        )
        for test, value in reference[halves].items():
            yield share("dietterich", f"{halves}, {test}", measured[test], n_sets, value, reference["n_sets"])


def check_populations(reference: dict[str, Any], quick: bool) -> Iterator[Row]:
    n_sets = {"replicates": 1000 if quick else 5000, "none": 20_000 if quick else 100_000}
    nulls = simulated.null_shares(reference["shares"], reference["kl_null"])
    for i, (population, null, n, values) in enumerate(reference["sizes"]):
        shares = nulls[population, null]
        generator = np.random.default_rng([2005, i])
        measured = simulated.sizes(shares, n, n_sets, reference["n_replicates"], generator)
        for test, value in zip(reference["tests"], values, strict=True):
            if test in measured:
                size, n_used = measured[test]
                name = f"{population}, {null}, N {n}, {test}"
                yield share("populations", name, size, n_used, value, reference["n_sets"])


SECTIONS: dict[str, Callable[[dict[str, Any], bool], Iterator[Row]]] = {
    "fagerland": check_fagerland,
    "poisson": check_poisson,
    "mcnemar": check_mcnemar,
    "goutte": check_goutte,
    "demsar": check_demsar,
    "hold-out": check_hold_out,
    "drawn": check_drawn,
    "dietterich": check_dietterich,
    "populations": check_populations,
}


def print_rows(rows: Iterator[Row]) -> list[Row]:
    """Print rows as they come; return them all."""
    found = []
    for row in rows:
        verdict = "ok" if row.ok else "OUTSIDE"
        numbers = f"{row.measured:12.6g} {row.reference:12.6g} {row.tolerance:10.2g}"
        print(f"{row.name:66} {numbers}  {verdict}", flush=True)
        found.append(row)
    return found


KEPT = (
    validate_clusters, validate_ends, validate_macro, validate_margin, validate_scores, validate_many,
    validate_runs,
)  # fmt: skip
PARTS = {"advise": validate_advise.main, **{module.PART.name: module.PART.main for module in KEPT}}


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] in PARTS:
        return PARTS[arguments[0]](arguments[1:])
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="simulate fewer sets")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=SECTIONS,
        default=list(SECTIONS),
        metavar="SECTION",
        help=", ".join(SECTIONS),
    )
    options = parser.parse_args(arguments)
    references = json.loads(REFERENCES.read_text(encoding="utf-8"))
    rows: list[Row] = []
    for section in options.only:
        start = time.perf_counter()
        print(f"\n{section}: {references[section]['source']}")
        print(f"{'':66} {'measured':>12} {'reference':>12} {'tolerance':>10}")
        rows += print_rows(SECTIONS[section](references[section], options.quick))
        print(f"({time.perf_counter() - start:.1f} s)")
    outside = [row for row in rows if not row.ok]
    print(f"\n{len(rows)} rows, {len(outside)} outside")
    for row in outside:
        print(f"  {row.section}: {row.name}: {row.measured:.6g}, reference {row.reference:.6g}")
    if "populations" in options.only:
        missing = [name for name in references["populations"]["tests"] if name not in simulated.TESTS]
        print(f"references of tests that the library does not have: {', '.join(missing)}")
    for name, reason in references["not reproducible"].items():
        print(f"not reproducible: {name}: {reason}")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
