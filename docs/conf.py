"""Sphinx: ``sphinx-build -W docs docs/_build`` makes the site, without a network."""

from harness import __version__

project = "harness"
copyright = "the harness developers"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
myst_fence_as_directive = []
napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
html_theme = "furo"
html_title = "harness"


def escape_bars(app, what, name, obj, options, lines):
    """Keep |d| from being read as a substitution."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith(">>>"):
            parts = line.split("``")
            lines[i] = "``".join(part if n % 2 else part.replace("|", r"\|") for n, part in enumerate(parts))


def setup(app):
    """Connect what is done to each docstring."""
    app.connect("autodoc-process-docstring", escape_bars, priority=400)
