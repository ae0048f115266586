"""``report.html``: a run's summary, figures and tables as one page that needs no other file."""
