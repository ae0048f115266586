"""Tables and text as Markdown, LaTeX and one HTML page."""
