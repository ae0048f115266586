"""Reuters RCV1's 103 topics: names, hierarchy, and how many documents carry each.

The names and parents are those of the topic hierarchy that comes with RCV1-v2 (Lewis, Yang, Rose & Li
2004, "RCV1: A New Benchmark Collection for Text Categorization Research", JMLR 5, 361-397; its file
``rcv1.topics.hier.orig``). The counts are over the 804,414 documents of RCV1-v2. They came to this project
in a table that names no source. What is certain of them is their rank order and the two extremes (CCAT
with 381,327 documents, GMIL with 5); read the others as close to the collection's, not as quotations.
The root of the hierarchy carries no documents of its own and is left out: a topic of the first
level has the parent ``"Root"``.
"""

import numpy as np
from numpy.typing import NDArray

ROOT = "Root"

N_DOCUMENTS = 804_414
"""Documents of RCV1-v2, over which `TOPICS` counts."""

TOPICS: dict[str, tuple[str, int]] = {
    "C11": ("CCAT", 24_325),
    "C12": ("CCAT", 11_944),
    "C13": ("CCAT", 37_410),
    "C14": ("CCAT", 7_410),
    "C15": ("CCAT", 151_785),
    "C151": ("C15", 81_890),
    "C1511": ("C151", 23_211),
    "C152": ("C15", 73_104),
    "C16": ("CCAT", 1_920),
    "C17": ("CCAT", 41_829),
    "C171": ("C17", 18_313),
    "C172": ("C17", 11_487),
    "C173": ("C17", 2_636),
    "C174": ("C17", 5_871),
    "C18": ("CCAT", 52_817),
    "C181": ("C18", 43_374),
    "C182": ("C18", 4_671),
    "C183": ("C18", 7_406),
    "C21": ("CCAT", 25_403),
    "C22": ("CCAT", 6_119),
    "C23": ("CCAT", 2_625),
    "C24": ("CCAT", 32_153),
    "C31": ("CCAT", 40_506),
    "C311": ("C31", 4_299),
    "C312": ("C31", 6_648),
    "C313": ("C31", 1_115),
    "C32": ("CCAT", 2_084),
    "C33": ("CCAT", 15_332),
    "C331": ("C33", 1_210),
    "C34": ("CCAT", 4_835),
    "C41": ("CCAT", 11_355),
    "C411": ("C41", 10_272),
    "C42": ("CCAT", 11_878),
    "CCAT": ("Root", 381_327),
    "E11": ("ECAT", 8_568),
    "E12": ("ECAT", 27_100),
    "E121": ("E12", 2_182),
    "E13": ("ECAT", 6_603),
    "E131": ("E13", 5_659),
    "E132": ("E13", 939),
    "E14": ("ECAT", 2_177),
    "E141": ("E14", 376),
    "E142": ("E14", 200),
    "E143": ("E14", 1_206),
    "E21": ("ECAT", 43_130),
    "E211": ("E21", 15_768),
    "E212": ("E21", 27_405),
    "E31": ("ECAT", 2_415),
    "E311": ("E31", 1_701),
    "E312": ("E31", 52),
    "E313": ("E31", 111),
    "E41": ("ECAT", 17_035),
    "E411": ("E41", 2_136),
    "E51": ("ECAT", 21_280),
    "E511": ("E51", 2_933),
    "E512": ("E51", 12_634),
    "E513": ("E51", 2_290),
    "E61": ("ECAT", 391),
    "E71": ("ECAT", 5_270),
    "ECAT": ("Root", 119_920),
    "G15": ("GCAT", 20_672),
    "G151": ("G15", 3_307),
    "G152": ("G15", 2_107),
    "G153": ("G15", 2_360),
    "G154": ("G15", 8_404),
    "G155": ("G15", 2_124),
    "G156": ("G15", 260),
    "G157": ("G15", 2_036),
    "G158": ("G15", 4_300),
    "G159": ("G15", 40),
    "GCAT": ("Root", 239_267),
    "GCRIM": ("GCAT", 32_219),
    "GDEF": ("GCAT", 8_842),
    "GDIP": ("GCAT", 37_739),
    "GDIS": ("GCAT", 8_657),
    "GENT": ("GCAT", 3_801),
    "GENV": ("GCAT", 6_261),
    "GFAS": ("GCAT", 313),
    "GHEA": ("GCAT", 6_030),
    "GJOB": ("GCAT", 17_241),
    "GMIL": ("GCAT", 5),
    "GOBIT": ("GCAT", 844),
    "GODD": ("GCAT", 2_802),
    "GPOL": ("GCAT", 56_878),
    "GPRO": ("GCAT", 5_498),
    "GREL": ("GCAT", 2_849),
    "GSCI": ("GCAT", 2_410),
    "GSPO": ("GCAT", 35_317),
    "GTOUR": ("GCAT", 680),
    "GVIO": ("GCAT", 32_615),
    "GVOTE": ("GCAT", 11_532),
    "GWEA": ("GCAT", 3_878),
    "GWELF": ("GCAT", 1_869),
    "M11": ("MCAT", 48_700),
    "M12": ("MCAT", 26_036),
    "M13": ("MCAT", 53_634),
    "M131": ("M13", 28_185),
    "M132": ("M13", 26_752),
    "M14": ("MCAT", 85_440),
    "M141": ("M14", 47_708),
    "M142": ("M14", 12_136),
    "M143": ("M14", 21_957),
    "MCAT": ("Root", 204_820),
}
"""Topic -> (parent, documents that carry it), in alphabetical order. A topic's documents carry its parent."""

NAMES: tuple[str, ...] = tuple(TOPICS)


def topic_frequencies() -> NDArray[np.float64]:
    """Return the share of RCV1-v2's documents that carry each topic of `NAMES`, shape (103,).

    Examples
    --------
    >>> share = topic_frequencies()
    >>> print(f"{share.sum():.2f} topics a document; CCAT {share[NAMES.index('CCAT')]:.3f}")
    3.24 topics a document; CCAT 0.474
    """
    return np.array([count for _, count in TOPICS.values()]) / N_DOCUMENTS


def children() -> dict[str, tuple[str, ...]]:
    """Return the children of each topic that has some, parents before their children.

    Examples
    --------
    >>> tree = children()
    >>> tree["Root"], tree["C15"]
    (('CCAT', 'ECAT', 'GCAT', 'MCAT'), ('C151', 'C152'))
    >>> list(tree).index("C15") < list(tree).index("C151")
    True
    """
    tree: dict[str, tuple[str, ...]] = {}
    waiting = [ROOT]
    while waiting:
        parent = waiting.pop(0)
        below = tuple(name for name, (above, _) in TOPICS.items() if above == parent)
        if below:
            tree[parent] = below
            waiting.extend(below)
    return tree


def keep_frequent(n_topics: int) -> tuple[str, ...]:
    """Return the `n_topics` most frequent topics, in alphabetical order.

    A parent has at least as many documents as each of its children, so the ancestors of a kept topic
    are kept too; ties go to the parent, then to the alphabet.

    Examples
    --------
    >>> keep_frequent(5)
    ('C15', 'CCAT', 'ECAT', 'GCAT', 'MCAT')
    """
    rank = {name: (-TOPICS[name][1], _depth(name), name) for name in NAMES}
    return tuple(sorted(sorted(NAMES, key=rank.__getitem__)[:n_topics]))


def _depth(name: str) -> int:
    """Return the number of steps from the root to `name`."""
    steps = 0
    while name != ROOT:
        name, steps = TOPICS[name][0], steps + 1
    return steps
