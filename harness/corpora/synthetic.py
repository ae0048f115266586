"""A generator of documents that look like RCV1 to a bag-of-words classifier: ``corpus=synthetic``."""

from functools import lru_cache
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import lambertw

from harness.corpora.corpus import Corpus, ids_as_text
from harness.corpora.rcv1_topics import NAMES, ROOT, TOPICS, children, keep_frequent, topic_frequencies
from harness.corpora.rows import Entries, SparseRows
from harness.errors import UserError, check_whole, require
from harness.seeding import rng

N_TERMS = 47_236
CHUNK = 10_000
"""Documents that share a generator. Small, because the last chunk is drawn whole and then cut."""
MAX_DOCUMENTS = 20_000_000
"""Beyond it the non-zeros could pass what an int32 index can address."""

LENGTH_MEAN, LENGTH_SD, LENGTH_MIN, LENGTH_MAX = 125.0, 100.0, 8, 5_000
NEW_TERM = 0.70
"""Probability that a token is drawn afresh; else it repeats the one before it (burstiness)."""
SHARE_WEIGHT = 6.0
"""Sum of the parameters of the Beta distribution of a document's topical share."""
BACKGROUND_SHIFT, TOPIC_SHIFT = 2.7, 3.0
TOPIC_TERMS = 2_000
TOPIC_FLATTENING = 0.6
"""A topic picks its terms with chances in proportion to this power of their background frequency."""
VOICE_SD = 0.5
"""Standard deviation of the logarithm of a topic's voice: some topics are easier to hear than others."""
ODD_DOCUMENTS = 0.15
"""Share of documents of whose topical tokens a part, uniform in (0, 1), speaks of a topic drawn at random."""

NOTE = (
    "synthetic: words depend on a document's topics and on little else, so errors have less structure than "
    "on real text and linear and Gaussian-kernel SVMs disagree less often than on real RCV1 documents; "
    "trust it for how tests behave, not for how models do"
)


class _Branch(NamedTuple):
    """How the documents of one topic come by its children: 1 + Poisson(`excess`) picks."""

    parent: str
    columns: NDArray[np.intp]
    excess: float
    cumulative: NDArray[np.float64]


class Language(NamedTuple):
    """How each topic is spoken of: its terms, most frequent first, and its weight beside other topics."""

    terms: NDArray[np.int32]
    voices: NDArray[np.float64]


def generate_synthetic(
    n_documents: int = 12_000, n_topics: int = 103, seed: int = 0, topical_share: float = 0.8
) -> Corpus:
    """Draw documents that resemble RCV1-v2 in what a linear or Gaussian-kernel SVM can use.

    Topics are as frequent as in RCV1-v2 (each count is Binomial(n_documents, its share)), a document carries
    its topics' ancestors, and siblings share documents as often as the counts demand; lengths, vocabulary and
    bursts are RCV1's. Which words go together, drift in time and Reuters's indexing errors are not kept.
    docs/corpora.md compares how hard its topics are with real documents. The order of the documents means
    nothing.

    The documents of a smaller corpus with the same seed are the first of a larger one. The `n_topics` most
    frequent topics are kept, which always include the ancestors of each; documents and words are the same as
    with 103, so that with few topics some documents carry none. `topical_share` is the mean share of tokens
    drawn from a document's topics (the rest are background): more is easier. A document takes about 700
    bytes; 804,414 took 16 seconds of one core and 1.1 GiB.

    References
    ----------
    Lewis, Yang, Rose & Li (2004), JMLR 5, 361-397. The hierarchy and the counts: `rcv1_topics`.
    """
    n_documents = check_whole("corpus.n_documents", n_documents, 1, MAX_DOCUMENTS, UserError)
    n_topics = check_whole("corpus.n_topics", n_topics, 1, len(NAMES), UserError)
    seed = check_whole("corpus.seed", seed, 0, kind=UserError)
    is_number = isinstance(topical_share, Real) and not isinstance(topical_share, bool)
    wrong = f"corpus.topical_share: {topical_share!r} is not allowed; numbers between 0 and 1 (exclusive) are"
    require(is_number and 0 < topical_share < 1, wrong, UserError)
    language = draw_language(seed)
    kept = keep_frequent(n_topics)
    columns = [NAMES.index(name) for name in kept]
    topics: list[sparse.csr_array] = []
    rows = SparseRows()
    for chunk, first in enumerate(range(0, n_documents, CHUNK)):
        n_kept = min(CHUNK, n_documents - first)
        generator = rng(seed, "synthetic", chunk)
        carried = draw_topics(CHUNK, generator)
        topics.append(sparse.csr_array(carried[:n_kept, columns].astype(np.uint8)))
        rows.extend(draw_terms(carried, language, float(topical_share), generator, n_kept))
    ids, term_names = ids_as_text(np.arange(1, n_documents + 1)), [f"t{i}" for i in range(1, N_TERMS + 1)]
    carried_kept = sparse.vstack(topics, format="csr")
    return Corpus(
        "synthetic", rows.matrix(N_TERMS), carried_kept, ids, np.array(term_names), kept, notes=(NOTE,)
    )


def draw_topics(n_documents: int, generator: np.random.Generator) -> NDArray[np.bool_]:
    """Draw which topics of `NAMES` each document carries, from the root of the hierarchy down.

    A document that carries a topic makes 1 + Poisson(excess) picks, with replacement, among its
    children and "none of them". Excess and chances follow from the children's frequencies (see
    `solve_branch`), so that every topic has exactly its share of RCV1-v2.
    """
    carried = np.zeros((n_documents, len(NAMES)), dtype=bool)
    for branch in _branches():
        if branch.parent == ROOT:
            inside = np.arange(n_documents)
        else:
            inside = np.flatnonzero(carried[:, NAMES.index(branch.parent)])
        document = np.repeat(inside, 1 + generator.poisson(branch.excess, inside.size))
        pick = np.searchsorted(branch.cumulative, generator.random(document.size), side="right")
        chosen = pick < branch.columns.size
        carried[document[chosen], branch.columns[pick[chosen]]] = True
    return carried


def solve_branch(shares: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the excess and the chances of a pick with which each child has its share of the parent.

    After 1 + Poisson(x) picks a child with chance q is missing with probability (1-q) exp(-x q). Set equal
    to 1 - share this gives 1-q = W(x (1-share) exp(x)) / x with Lambert's W. Where the shares add up to
    more than 1 the excess is the x for which the q add up to 1 (each document of the parent then carries
    a child); otherwise it is 0, q is the share, and what is left to 1 is the chance of no child.
    """
    if shares.sum() <= 1:
        return 0.0, shares

    def chances(x: float) -> NDArray[np.float64]:
        return np.asarray(1 - lambertw(x * (1 - shares) * np.exp(x)).real / x)

    excess = brentq(lambda x: chances(x).sum() - 1, 1e-9, 20.0, xtol=1e-12)
    return float(excess), chances(excess)


@lru_cache(maxsize=1)
def _branches() -> tuple[_Branch, ...]:
    """Return the hierarchy's branches, parents first, with their chances."""
    frequency = dict(zip(NAMES, topic_frequencies(), strict=True)) | {ROOT: 1.0}
    branches = []
    for parent, below in children().items():
        excess, chances = solve_branch(np.array([frequency[name] for name in below]) / frequency[parent])
        cumulative = np.cumsum(chances)
        if excess > 0:
            cumulative[-1] = 1.0  # the sum is 1 but for rounding
        branches.append(_Branch(parent, np.array([NAMES.index(name) for name in below]), excess, cumulative))
    return tuple(branches)


def draw_language(seed: int) -> Language:
    """Draw how each topic is spoken of: its terms and how loudly it speaks.

    Terms are picked without replacement with chances in proportion to background ** .6 (the largest of
    log-weights plus Gumbel noise), so that topics share common terms and own rare ones.
    """
    generator = rng(seed, "synthetic", "language")
    weight = -TOPIC_FLATTENING * np.log(np.arange(N_TERMS) + BACKGROUND_SHIFT)
    terms = np.empty((len(NAMES), TOPIC_TERMS), dtype=np.int32)
    for row in terms:
        key = weight + generator.gumbel(size=N_TERMS)
        best = np.argpartition(-key, TOPIC_TERMS)[:TOPIC_TERMS]
        row[:] = best[np.argsort(-key[best], kind="stable")]
    voices = generator.lognormal(0.0, VOICE_SD, len(NAMES))
    # The first level decides micro F1, which must not hang on the seed: no luck in its voices.
    voices[[TOPICS[name][0] == ROOT for name in NAMES]] = 1.0
    return Language(terms, voices)


def draw_lengths(n_documents: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Draw documents' tokens: lognormal with mean 125 and standard deviation 100, from 8 to 5,000."""
    variance = np.log1p((LENGTH_SD / LENGTH_MEAN) ** 2)
    lengths = generator.lognormal(np.log(LENGTH_MEAN) - variance / 2, np.sqrt(variance), n_documents)
    return np.clip(np.rint(lengths), LENGTH_MIN, LENGTH_MAX).astype(np.int64)


def draw_terms(
    carried: NDArray[np.bool_],
    language: Language,
    topical_share: float,
    generator: np.random.Generator,
    n_kept: int,
) -> Entries:
    """Draw the words of documents and count them; the first `n_kept` do not depend on how many are kept.

    A fresh token is topical with the document's own probability, Beta with mean `topical_share`, and
    then belongs to one of the document's topics, each as likely as the others; else it is background.
    Both follow Zipf's law with a shift. A token that is not fresh repeats the one before.
    """
    n_documents = len(carried)
    lengths = draw_lengths(n_documents, generator)
    first = np.cumsum(lengths) - lengths
    fresh = generator.random(lengths.sum(), dtype=np.float32) < NEW_TERM
    fresh[first] = True
    n_fresh = np.add.reduceat(fresh, first, dtype=np.int64)
    document = np.repeat(np.arange(n_documents, dtype=np.int32), n_fresh)

    more, less = topical_share * SHARE_WEIGHT, (1 - topical_share) * SHARE_WEIGHT
    topical_chance = generator.beta(more, less, size=n_documents).astype(np.float32)
    topical = generator.random(document.size, dtype=np.float32) < topical_chance[document]
    position = generator.random(document.size, dtype=np.float32)
    term = zipf_rank(position, N_TERMS, BACKGROUND_SHIFT)
    topic = _draw_token_topics(carried, document[topical], language.voices, generator)
    term[topical] = language.terms[topic, zipf_rank(position[topical], TOPIC_TERMS, TOPIC_SHIFT)]

    key = document.astype(np.uint32) * np.uint32(N_TERMS) + term.astype(np.uint32)
    n_tokens = lengths[:n_kept].sum()
    return _count(key[np.cumsum(fresh[:n_tokens]) - 1], n_kept)


def _draw_token_topics(
    carried: NDArray[np.bool_],
    document: NDArray[np.int32],
    voices: NDArray[np.float64],
    generator: np.random.Generator,
) -> NDArray[np.intp]:
    """Return the topic that each topical token speaks of; odd documents speak mostly of a foreign one."""
    owner, topic = np.nonzero(carried)
    voice = np.cumsum(voices[topic])
    last = np.cumsum(np.bincount(owner, minlength=len(carried))) - 1
    high = voice[last]
    low = np.r_[0.0, high[:-1]]
    heard = low[document] + generator.random(document.size) * (high - low)[document]
    chosen = topic[np.minimum(np.searchsorted(voice, heard, side="right"), last[document])]

    odd = generator.random(len(carried)) < ODD_DOCUMENTS
    stray_chance = np.where(odd, generator.random(len(carried)), 0.0)
    frequency = topic_frequencies()
    foreign = generator.choice(len(NAMES), size=len(carried), p=frequency / frequency.sum())
    strays = generator.random(document.size, dtype=np.float32) < stray_chance[document]
    return np.where(strays, foreign[document], chosen)


def zipf_rank(position: NDArray[np.float32], n_terms: int, shift: float) -> NDArray[np.int32]:
    """Turn uniform draws into ranks 0..n_terms-1 with weights ln((rank+1+shift)/(rank+shift)).

    These are the Zipf-Mandelbrot weights 1/(rank + shift + 1/2) to second order; unlike theirs, this
    distribution function has an inverse in closed form.
    """
    base, low = np.float32(np.log1p(n_terms / shift)), np.float32(shift)
    rank: NDArray[np.int32] = (np.exp(position * base) * low - low).astype(np.int32)
    return np.clip(rank, 0, n_terms - 1, out=rank)


def _count(key: NDArray[np.uint32], n_documents: int) -> Entries:
    """Count equal tokens, each given as document * N_TERMS + term."""
    key.sort()
    start = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
    document, term = np.divmod(key[start], np.uint32(N_TERMS))
    count = np.diff(np.r_[start, key.size]).astype(np.float32)
    return Entries(np.bincount(document, minlength=n_documents), term, count)
