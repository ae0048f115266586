"""One file per corpus source; each returns a :class:`harness.corpora.corpus.Corpus`."""
