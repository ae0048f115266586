"""Make three files of real predictions for ``harness advise``, with classifiers of scikit-learn.

    python scripts/example_predictions.py --reuters reuters21578.tar.xz [--to FOLDER]

``reuters_grain.csv``: is a story of Reuters-21578 about grain (ModApte's split, 3,299 test stories)? A linear
SVM, logistic regression and naive Bayes. ``reuters_topics.csv``: the same stories and its ten most frequent
topics, a row for each story and topic; a linear SVM and logistic regression. ``digits.csv``: ten classes of
handwritten digits (scikit-learn's, half of them for testing); an RBF SVM, nearest neighbours and a random
forest.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

N_TRAIN = 9_603  # ModApte's training stories, which come first
N_TOPICS = 10


def reuters_files(path: Path) -> dict[str, pd.DataFrame]:
    """Return the predictions on one topic and on ten."""
    from harness.corpora.reuters21578 import load_reuters21578

    corpus = load_reuters21578(path)
    weigh = TfidfTransformer(sublinear_tf=True)
    x_train = weigh.fit_transform(corpus.terms[:N_TRAIN])
    x_test = weigh.transform(corpus.terms[N_TRAIN:])
    topics, ids = corpus.topics.toarray(), corpus.document_ids[N_TRAIN:]
    names = list(corpus.topic_names)

    def decide(model: object, topic: str) -> np.ndarray:
        labels = topics[:N_TRAIN, names.index(topic)]
        return model.fit(x_train, labels).predict(x_test)

    grain = pd.DataFrame({"id": ids, "y_true": topics[N_TRAIN:, names.index("grain")]})
    grain["linear_svm"] = decide(LinearSVC(C=1.0, random_state=0), "grain")
    grain["logistic_regression"] = decide(LogisticRegression(C=10.0, max_iter=1000), "grain")
    grain["naive_bayes"] = decide(MultinomialNB(alpha=0.01), "grain")
    largest = np.argsort(-topics[:N_TRAIN].sum(axis=0, dtype=int), kind="stable")[:N_TOPICS]
    parts = []
    for topic in (names[place] for place in largest):
        part = pd.DataFrame({"id": ids, "category": topic, "y_true": topics[N_TRAIN:, names.index(topic)]})
        part["linear_svm"] = decide(LinearSVC(C=1.0, random_state=0), topic)
        part["logistic_regression"] = decide(LogisticRegression(C=10.0, max_iter=1000), topic)
        parts.append(part)
    return {"reuters_grain": grain, "reuters_topics": pd.concat(parts, ignore_index=True)}


def digits_file() -> pd.DataFrame:
    """Return the predictions on digits, labels of ten classes."""
    x, y = load_digits(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.5, random_state=0, stratify=y)
    models = {
        "rbf_svm": SVC(C=10.0, gamma=0.001),
        "nearest_neighbours": KNeighborsClassifier(n_neighbors=3),
        "random_forest": RandomForestClassifier(n_estimators=200, random_state=0),
    }
    said = {name: model.fit(x_train, y_train).predict(x_test) for name, model in models.items()}
    return pd.DataFrame({"y_true": y_test, **said})


def main(arguments: Sequence[str]) -> int:
    """Write the files and say where they are."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reuters", type=Path, help="Reuters-21578: the folder of its files, or an archive")
    parser.add_argument("--to", type=Path, default=Path("predictions"), help="folder to write to")
    options = parser.parse_args(arguments)
    files = {"digits": digits_file()}
    if options.reuters is not None:
        files |= reuters_files(options.reuters)
    options.to.mkdir(parents=True, exist_ok=True)
    for name, table in files.items():
        path = options.to / f"{name}.csv"
        table.to_csv(path, index=False, lineterminator="\n")
        print(f"{path}: {len(table):,} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
