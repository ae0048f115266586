import base64
import hashlib
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from beside import beside
from html_page import check_page
from matplotlib.colors import to_rgb
from PIL import Image

from harness.writing import citations
from harness.writing import page as page_module
from harness.writing.captions import read_captions, write_captions
from harness.writing.page import BUDGET, LONGEST_TABLE, fit_to_budget, reduce_colours, refresh_page
from harness.writing.report import Report, Section, bullets, table, write_report

KNOWN = beside(__file__)

HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "[x](javascript:alert(1))",
    "![x](http://evil.example/x.png)", "</style><b>", "<http://evil.example>", "a|b *c* _d_ `e`", "&lt;i&gt;",
    "[x]: http://evil.example", "http://evil.example/",
)  # fmt: skip


def png(noise=0):
    made = io.BytesIO()
    image = Image.effect_noise((noise, noise), 80) if noise else Image.new("L", (30, 20))
    image.convert("RGBA").save(made, "PNG")
    return made.getvalue()


def make_report(out, names=("plain",), stems=("figure1", "figure2"), provenance=None, tables=None, more=()):
    """A run's folder with its report, where `names` stand wherever a user's own names can."""
    (out / "figures").mkdir(parents=True)
    rates = pd.DataFrame(
        {"category": names, "rate": ["0.05 [0.01, 0.10]"] * len(names), "n": range(len(names))}
    )
    lines = [f"{name} is rejected" for name in names]
    sections = [
        *(Section(heading, [bullets(lines)]) for heading in ("What was run", "Main findings", "Warnings")),
        Section("Rates", [table(rates, f"Rates of {names[0]}.")]),
        Section("Bare", [table(rates)]),
        *more,
        Section("Files", [bullets(["figures/figure1.png"])]),
    ]
    for stem in stems:
        (out / "figures" / f"{stem}.png").write_bytes(png())
    write_captions(out / "figures", {stem: f"Shows {names[-1]} and more. " * 9 for stem in stems})
    (out / "rates.csv").write_text("a\n1\n")
    facts = {
        "command": f"harness run out={names[0]}", "seed": 3, "versions": {"harness": "0.1.0", "numpy": "2"},
        "seconds": {names[0]: 1.5}, **(provenance or {}),
    }  # fmt: skip
    size = [(f"Sizes of {names[0]}", rates.assign(rate=0.5))]
    write_report(out, Report("A run", sections, {"size": size, **(tables or {})}), facts)
    return out


def attribute(page, tag, name):
    return [entry["attributes"].get(name) for entry in page.all(tag)]


def test_findings_first_then_figures_then_tables(tmp_path):
    make_report(tmp_path / "run")
    page = check_page(tmp_path / "run")
    assert page.headings() == [
        "Main findings", "What was run", "Warnings", "Figures", "Rates", "Bare", "More tables", "How to cite",
        "How to run this again", "Files",
    ]  # fmt: skip
    assert [caption["text"] for caption in page.all("caption")] == [
        "Rates of plain.", "Bare", "Sizes of plain", "What it ran on.",
    ]  # fmt: skip
    assert [alt[:15] for alt in attribute(page, "img", "alt")] == ["figure1: Shows ", "figure2: Shows "]
    assert (attribute(page, "img", "width")[0], attribute(page, "img", "height")[0]) == ("30", "20")
    assert set(attribute(page, "a", "href")) >= {"rates.csv", "tables/size.tex", "#figures"}
    text = page.all("main")[0]["text"]
    assert "harness run out=plain\nharness figures from=FOLDER" in text
    assert "Seed: 3." in text
    assert "numpy" in text
    (policy,) = [content for content in attribute(page, "meta", "content") if "default-src" in str(content)]
    for tag, rule in (("style", "style-src"), ("script", "script-src")):  # its own are let through, no other
        digest = base64.b64encode(hashlib.sha256(page.all(tag)[0]["text"].encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}';" in policy
    assert "unsafe" not in policy


def test_names_are_text_wherever_they_stand(tmp_path):
    stems = ("figure1", 'x"onload="y', "<b>bold<b>")
    make_report(tmp_path / "run", HOSTILE, stems)
    page = check_page(tmp_path / "run")
    assert len(page.all("script")) == 1
    assert len(page.all("img")) == len(stems)
    assert not page.all("b")
    cells = [cell["text"] for cell in page.all("td")]
    bullets = [item["text"] for item in page.all("li")]
    for name in HOSTILE:
        assert cells.count(name) == 3
        assert sum(f"{name} is rejected" in bullet for bullet in bullets) == 3
    own = ("#", "figures/", "tables/", "rates.csv", "summary.md", "provenance.json")
    assert all(link.startswith(own) for link in attribute(page, "a", "href"))
    assert {alt.partition(": ")[0] for alt in attribute(page, "img", "alt")} == set(stems)


def test_new_figures_alone_change_when_the_page_is_refreshed(tmp_path):
    out = make_report(tmp_path / "run")
    first = (out / "report.html").read_bytes()
    assert refresh_page(out).read_bytes() == first
    (out / "figures" / "figure2.png").unlink()
    assert len(first) > len(refresh_page(out).read_bytes())
    assert [alt[:7] for alt in attribute(check_page(out), "img", "alt")] == ["figure1"]
    assert refresh_page(tmp_path) is None
    (out / "report.html").write_text("a page of another program")
    assert refresh_page(out) is None


def test_numbers_stand_to_the_right_and_short_cells_are_not_broken(tmp_path):
    shown = pd.DataFrame(
        {"test": ["5x2cv t", ""], "n": ["1,200", "+.5 %"], "rate": [0.5, None], "words": ["w " * 99, ""]}
    )
    make_report(tmp_path / "run", tables={"other": [("Other", shown)]})
    page = check_page(tmp_path / "run")
    (row,) = [place for place, cell in enumerate(page.all("td")) if cell["text"] == "5x2cv t"]
    kinds = [cell["attributes"]["class"] for cell in page.all("td")[row : row + 4]]
    assert kinds == ["short", "number short", "number short", "long"]
    heads = [head["attributes"].get("class") for head in page.all("th") if head["text"] in ("n", "words")]
    assert heads[-2:] == ["number brief", "brief"]


def test_the_summary_holds_the_same(tmp_path):
    text = (make_report(tmp_path / "run", ("a|b",)) / "summary.md").read_text()
    assert text.startswith("# A run\n\n## What was run\n\n- a\\|b is rejected\n\n## Main findings\n")
    rows = "| category | rate | n |\n| --- | --- | --- |\n| a\\|b | 0.05 [0.01, 0.10] | 0 |\n"
    assert f"\n\nRates of a\\|b.\n\n{rows}" in text
    assert "\n```\nharness run out=a|b\nharness figures from=FOLDER\n```\n\n- Seed: 3." in text


def test_of_many_figures_the_papers_are_open_and_of_many_warnings_the_first(tmp_path):
    names = [f"name {place}" for place in range(9)]
    out = make_report(tmp_path / "run", names, ("a", "figure1", "b", "figure2", "c"))
    write_captions(out / "figures", {"a": "What a shows."})
    refresh_page(out)
    page = check_page(out)
    opened = [image["attributes"]["alt"][:7] for image in page.all("img") if "details" not in image["inside"]]
    assert opened == ["figure1", "figure2"]
    assert len(page.all("img")) == 5
    summaries = [summary["text"] for summary in page.all("summary")]
    assert {"a", "3 more warnings"} <= set(summaries)
    assert page.all("main")[0]["text"].count("What a shows.") == 1
    folded = [item["text"] for item in page.all("li") if "details" in item["inside"]]
    assert folded == [f"{name} is rejected" for name in names[6:]]


def test_captions_stand_once_and_the_pages_of_a_figure_together(tmp_path):
    out = make_report(tmp_path / "run")
    captions = {"figure1": "Rates. " * 60 + "The end.", "figure2": "First. (Page 1 of 2.)",
                "figure2_2": "First. (Page 2 of 2.)"}  # fmt: skip
    (out / "figures" / "figure2_2.png").write_bytes(png())
    write_captions(out / "figures", captions, ["Seed 3 throughout."])
    refresh_page(out)
    page = check_page(out)
    shown = [caption["text"] for caption in page.all("figcaption")]
    assert shown == [f"figure1 {captions['figure1']}", "figure2 First."]
    alts = attribute(page, "img", "alt")
    assert alts[1:] == ["figure2: Page 1 of 2. First.", "figure2_2: Page 2 of 2. First."]
    assert max(map(len, alts)) < len(captions["figure1"])
    text = page.all("main")[0]["text"]
    assert text.count("The end.") == text.count("First.") == text.count("Seed 3 throughout.") == 1
    assert text.index("First.") < text.index("All figures Seed 3 throughout.")


def schemes():
    """The colours of the light and of the dark scheme, and the style without them."""
    style = (Path(page_module.__file__).parent / "templates" / "style.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root {(.*?)}", style, re.DOTALL)
    light, dark = (dict(re.findall(r"--([\w-]+): (#\w+);", block)) for block in blocks)
    return [light, light | dark], re.sub(r":root {.*?}", "", style, flags=re.DOTALL)


def luminance(colour):
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_stand_out_from_every_paper_in_both_schemes():
    papers = ("paper", "soft", "finding", "warning")
    both, rest = schemes()
    assert contrast("#fff", "#000") == pytest.approx(21)
    assert not re.search(r"#[0-9a-f]{3}", rest)
    used = set(re.findall(r"[ {]color: var\(--([\w-]+)\)", rest))
    assert used == {"ink", "quiet", "accent", "on-card"}
    assert set(re.findall(r"background: var\(--([\w-]+)\)", rest)) == {*papers, "card"}
    for colours in both:
        for paper in papers:
            assert min(contrast(colours[ink], colours[paper]) for ink in used - {"on-card"}) >= 4.5
        assert contrast(colours["on-card"], colours["card"]) >= 4.5
    assert both[0]["paper"] != both[1]["paper"]
    assert both[0]["card"] == both[1]["card"] == "#fff"


def test_figures_that_are_too_large_are_made_smaller_or_left_out(tmp_path, monkeypatch):
    large = png(noise=300)
    monkeypatch.setattr(page_module, "BUDGET", BUDGET * 300**2 // 1100**2)
    assert len(reduce_colours(large)) < len(large)
    paths = [tmp_path / f"{name}.png" for name in "abcde"]
    for path in paths:
        path.write_bytes(large)
    kept = fit_to_budget(paths)
    assert sum(len(data) for data in kept.values() if data) <= page_module.BUDGET
    assert kept["a"] is not None
    assert kept["e"] is None
    out = make_report(tmp_path / "run", stems=("figure1",))
    for path in paths:
        path.rename(out / "figures" / path.name)
    refresh_page(out)
    page = check_page(out)
    assert "figures/e.png is left out" in page.all("main")[0]["text"]


def test_a_long_table_and_figures_as_pdf_alone_are_named(tmp_path):
    rows = pd.DataFrame({"n": range(LONGEST_TABLE + 1)})
    out = make_report(tmp_path / "run", tables={"ranking": [("Every test", rows)]})
    for path in (out / "figures").glob("*.png"):
        path.rename(path.with_suffix(".pdf"))
    refresh_page(out)
    page = check_page(out)
    assert not page.all("img")
    text = page.all("main")[0]["text"]
    assert "Too long for a page: tables/ranking.md" in text
    assert "Files: figure1.pdf, figure2.pdf in figures/." in text


def test_captions_are_read_as_they_were_written(tmp_path):
    captions = {"a": "x < y & *z* `w` _v_ [u](t) a|b linear_svm", "b": "Two  words."}
    write_captions(tmp_path, captions)
    assert read_captions(tmp_path) == captions | {"b": "Two words."}
    assert read_captions(tmp_path / "absent") == {}


@pytest.mark.parametrize(("facts", "keys"), KNOWN["cited"])
def test_every_command_cites_what_it_rests_on(tmp_path, facts, keys):
    out = make_report(tmp_path / "run", provenance=facts)
    text = check_page(out).all("main")[0]["text"]
    assert re.findall(r"^@\w+\{(.+),$", text, re.MULTILINE) == keys


def test_citations_say_what_the_citation_file_says():
    path = Path(__file__).parents[2] / "CITATION.cff"
    facts = yaml.safe_load(path.read_text(encoding="utf-8"))
    software, *works = (
        citations.works()[key] for key in ("harness", "keller2005benchmarking", "keller2004significance")
    )
    assert facts["title"] == software.title
    assert [author["name"] for author in facts["authors"]] == software.authors
    for work, found in zip(works, facts["references"], strict=True):
        names = [f"{author['family-names']}, {author['given-names']}" for author in found["authors"]]
        assert (work.title, work.year, work.authors) == (found["title"], found["year"], names)
    first, second = facts["references"]
    pages = f"{first['start']}--{first['end']}"
    assert works[0].fields == {"booktitle": first["conference"]["name"], "pages": pages}
    assert works[1].fields == {"institution": second["institution"]["name"], "number": second["number"]}
