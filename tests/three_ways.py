"""One small study run in three ways that must leave the same bytes."""

from harness.cli import main

WAYS = ("one", "two", "again")


def run_three_ways(folder, small):
    """Run with one worker, with two, and taken up again from half of the kept units; return the folder."""
    ways = {
        "one": ["parallel=sequential", "cache=null"],
        "two": ["parallel.n_jobs=2", f"cache={folder / 'kept'}"],
        "again": ["parallel=sequential", f"cache={folder / 'kept'}"],
    }
    for name in WAYS:
        if name == "again":  # as if the run had been stopped
            for path in sorted((folder / "kept").rglob("*.npz"))[::2]:
                path.unlink()
        assert main(["compare", *small, *ways[name], f"out={folder / name}"]) == 0
    return folder
