"""A parsed ``report.html``, and what must hold of every one of them."""

import html
import re
from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """Tags in order with their attributes and the text within; fails where a tag is not closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        inside = [one["tag"] for one in self.open]
        entry = {"tag": tag, "attributes": dict(attributes), "text": "", "inside": inside}
        self.tags.append(entry)
        if tag not in VOID:
            self.open.append(entry)

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, text):
        for entry in self.open:
            entry["text"] += text

    def all(self, tag):
        return [entry for entry in self.tags if entry["tag"] == tag]

    def headings(self):
        return [entry["text"] for entry in self.all("h2")]


def check_page(folder, limit=5_000_000):
    """Check a page that a command left, and return it parsed."""
    path = Path(folder) / "report.html"
    data = path.read_bytes()
    assert len(data) < limit
    page = Page(data.decode())
    for tag in ("h1", "header", "nav", "main"):
        assert len(page.all(tag)) == 1
    assert page.all("a")[0]["attributes"]["href"] == f"#{page.all('main')[0]['attributes']['id']}"
    headings = page.headings()
    assert headings[0] in ("Main findings", "Findings")
    drawn = ["Figures"] if any((Path(folder) / "figures").glob("*.png")) else []
    for wanted in ("What was run", *drawn, "How to cite", "How to run this again", "Files"):
        assert wanted in headings
    assert "Warnings" in headings or "Notes" in headings
    assert len({entry["attributes"]["id"] for entry in page.all("h2")}) == len(headings)
    findings = re.search(r'class="findings"(.*?)</section>', data.decode(), re.DOTALL)
    lines = [html.unescape(line) for line in re.findall(r"<li>(.*?)</li>", findings[1], re.DOTALL)]
    assert lines
    assert "\n".join(line for line in lines if len(line.split()) > 25) == ""
    for image in page.all("img"):
        assert image["attributes"]["src"].startswith("data:image/png;base64,")
        assert image["attributes"]["alt"]
    captions = [caption["text"].strip() for caption in page.all("caption")]
    assert len(captions) == len(page.all("table")) > 0
    assert all(captions)
    (policy,) = [one["attributes"] for one in page.all("meta") if "http-equiv" in one["attributes"]]
    assert policy["http-equiv"] == "Content-Security-Policy"
    assert policy["content"].startswith("default-src 'none'; img-src data:;")
    assert not {"link", "iframe", "object", "embed", "video", "base"} & {tag["tag"] for tag in page.tags}
    assert [script["attributes"] for script in page.all("script")] == [{}]
    assert "aria-sort" in page.all("script")[0]["text"]
    for attributes in (entry["attributes"] for entry in page.tags):
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        for name in ("src", "href", "action"):
            assert not re.match("(?!data:image)[a-z]+:|//", attributes.get(name) or "", re.IGNORECASE)
    return page
