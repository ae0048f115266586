"""One file per model; each tunes, fits and predicts many categories at once."""
