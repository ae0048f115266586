"""What ``experiment=rr0434`` asks of the rest of the run, checked before any work."""

from collections.abc import Sequence

from harness.errors import UserError


def check_run(
    pairs: Sequence[str], n_test: int, n_replicates: int | None, balances: Sequence[str], stored: bool
) -> None:
    """Refuse settings of the whole run that leave nothing to compare."""
    if stored:
        raise UserError(
            "population: a stored outcomes table does not hold single documents, which experiment=rr0434 "
            "resamples; population=null, with a corpus, is allowed"
        )
    if n_test < 2:
        raise UserError(
            f"split.n_test: {n_test} is not allowed; experiment=rr0434 compares D_te with D_true and needs "
            "at least 2 documents in D_te"
        )
    if len(pairs) != 1:
        raise UserError(f"pairs: {len(pairs)} pairs are not allowed; experiment=rr0434 compares one pair")
    if n_replicates is None or n_replicates < 100:
        raise UserError(
            f"n_replicates: {n_replicates} is not allowed; experiment=rr0434 needs at least 100 replicates"
        )
    if list(balances) != ["natural"]:
        raise UserError(
            f"balance: {', '.join(balances)} is not allowed; experiment=rr0434 takes the categories as they "
            "are, balance=[natural]"
        )
