"""A part of validate.py whose outcome is kept: a table, a row for each population, with its provenance."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd


class Part(NamedTuple):
    """A part: what it is about, its numbers by default, and its table, which `tell` prints and judges.

    ``tabulate(n_populations, n_sets, seed, run)``; ``tell(table)`` returns what is wanted and whether it is
    met. The table does not depend on the number of workers.
    """

    name: str
    about: str | None
    tabulate: Callable[[int, int, int, Any], pd.DataFrame]
    tell: Callable[[pd.DataFrame], tuple[str, bool]]
    n_populations: int
    n_sets: int
    seed: int = 0

    def main(self, arguments: list[str]) -> int:
        """Measure, keep and tell; return 0 where what is wanted is met."""
        from harness.evaluation.rates import write_table
        from harness.runtime.parallel import Workers, make_run
        from harness.runtime.provenance import describe_software, write_provenance
        from harness.runtime.store import Store

        parser = argparse.ArgumentParser(
            prog=f"validate.py {self.name}", description=self.about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        parser.add_argument("folder", type=Path)
        for option in ("n_populations", "n_sets", "seed"):
            parser.add_argument(f"--{option.replace('_', '-')}", type=int, default=getattr(self, option))
        parser.add_argument("--n-jobs", type=int, default=-1)
        options = parser.parse_args(arguments)
        folder, numbers = options.folder, (options.n_populations, options.n_sets, options.seed)
        software, workers = describe_software(), Workers("loky", options.n_jobs)
        run = make_run(
            workers, Store(Path(".harness-cache")), f"validate_{self.name}", software["git_commit"]
        )
        table = self.tabulate(*numbers, run)
        folder.mkdir(parents=True, exist_ok=True)
        write_table(table, folder / f"{self.name}.csv")
        command = f"python scripts/validate.py {self.name} results/{folder.name}"
        command += " --n-populations {} --n-sets {} --seed {}".format(*numbers)
        write_provenance(folder, {"finished": True, "command": command, **software})
        wanted, met = self.tell(table)
        print(f"wanted: {wanted}: {'met' if met else 'NOT MET'}")
        return 0 if met else 1
