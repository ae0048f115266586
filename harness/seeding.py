"""A random generator from a seed and names, so that order and parallelism cannot matter."""

import hashlib

import numpy as np


def rng(seed: int, *names: object) -> np.random.Generator:
    """Return the generator that belongs to `seed` and `names`.

    Names say what the draws are for, from the general to the particular. Each is used through its text, kept
    apart from its neighbours by its length: ``("ab", "c")`` and ``("a", "bc")`` differ. The generator is a
    PCG64, seeded with the first 128 bits of the SHA-256 of seed and names.

    Examples
    --------
    >>> a, b = rng(0, "truth", "GCAT", 100), rng(0, "truth", "GCAT", 100)
    >>> bool(a.random() == b.random())
    True
    >>> bool(rng(0, "ab", "c").random() == rng(0, "a", "bc").random())
    False
    """
    digest = hashlib.sha256(str(int(seed)).encode())
    for name in names:
        text = str(name).encode()
        digest.update(b"\0%d\0" % len(text) + text)
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest.digest()[:16], "big")))
