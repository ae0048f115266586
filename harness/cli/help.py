"""What `harness` and `harness COMMAND --help` print."""

from harness import __version__

USAGE = f"""harness {__version__}: which significance test can I trust?

  harness run        measures size and power of the tests
                       harness run
                       harness run experiment=nips2005 corpus=lyrl corpus.path=FOLDER
  harness compare    compares learning algorithms on a data set
                       harness compare
                       harness compare data=csv data.csv.path=FILE data.csv.target=COLUMN
  harness advise     says which test to trust on one's own predictions
                       harness advise predictions=FILE
  harness figures    redraws the figures of a finished run
                       harness figures from=FOLDER
  harness collect    joins the tables of a sweep into one
                       harness collect FOLDER
  harness cache      lists what is kept for the next run, and prunes it
                       harness cache
                       harness cache prune=true older_than_days=30

`harness COMMAND --help` tells more. Settings are NAME=VALUE; -m NAME=VALUE,VALUE runs each in its turn.
"""
