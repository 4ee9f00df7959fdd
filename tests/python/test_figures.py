"""docs/results.svg, and pages next to links to experiments, show nothing but what records and the program itself say."""
import json
import re
import statistics
import subprocess
import sys

import pytest
from conftest import PROGRAM, SOURCE

sys.path.insert(0, str(SOURCE / "tools" / "bench"))
import compare  # noqa: E402

FIGURE = (SOURCE / "docs" / "results.svg").read_text()
SPEEDS = json.loads((SOURCE / "tools" / "bench" / "results.json").read_text())
DRAW = (SOURCE / "tools" / "draw-results").read_text()


def test_every_ratio_stands_in_the_record_of_the_comparison():
    ratios = {f"{statistics.median(peer['ratios']):.2f}" for row in SPEEDS["rows"] for peer in row["peers"] if peer["counts"]}
    panel = FIGURE[FIGURE.index('id="axes_3"'):]
    shown = re.findall(r">(\d+\.\d\d)</text>", panel)
    assert len(shown) >= 9 and set(shown) <= ratios
    for fact in (SPEEDS["machine"]["processor"], SPEEDS["date"]):
        assert fact in panel


def test_every_epsilon_is_what_the_accountants_say():
    command = re.search(r'command = "(privacy compare .*?)"\.split', DRAW).group(1).split()
    rows = json.loads(subprocess.run([PROGRAM, *command], check=True, capture_output=True).stdout)["accountants"]
    epsilons = {f"{row['epsilon']:.3g}" for row in rows if row.get("epsilon")}
    panel = FIGURE[FIGURE.index('id="axes_2"'):FIGURE.index('id="axes_3"')]
    shown = re.findall(r">(\d+\.?\d*)</text>", panel.split('id="text_')[-1]) + re.findall(r">(\d+\.\d+)</text>", panel)
    assert shown and set(shown) <= epsilons


def test_accuracies_are_drawn_where_the_record_has_them():
    record = json.loads((SOURCE / "experiments/adaptive/nothing-chosen-seeds/results.json").read_text())
    means = {(row["point"]["variant"] == "new", row["point"]["clients"], row["point"]["epsilon"]): row["mean"]
             for row in record["values"] if row["metric"] == "test_accuracy"}
    panel = FIGURE[FIGURE.index('id="axes_1"'):FIGURE.index('id="axes_2"')]
    # A line of markers for each of the two, in the order of clients and epsilon: y falls linearly with accuracy.
    marks = [[float(y) for y in re.findall(r'<use xlink:href="#\w+" x="[\d.]+" y="([\d.]+)"', group)]
             for group in re.findall(r"<g clip-path=[^>]*>(.*?)</g>", panel, re.DOTALL)]
    marks = [ys for ys in marks if len(ys) == 4]
    settings = sorted({key[1:] for key in means}, key=lambda key: (int(key[0]), float(key[1])))
    drawn = {tuple(means[new, *setting] for setting in settings) for new in (True, False)}
    assert len(settings) == 4 and drawn

    def matches(line, means_of_line):
        slope = (line[3] - line[0]) / (means_of_line[3] - means_of_line[0])
        return slope < 0 and all(abs(line[0] + slope * (m - means_of_line[0]) - y) < 0.02 for m, y in zip(means_of_line, line))
    assert marks and all(any(matches(line, of_line) for line in marks) for of_line in drawn)


def test_the_page_on_speed_has_the_table_of_the_record():
    page = (SOURCE / "tools" / "bench" / "README.md").read_text()
    assert "\n".join(compare.table(SPEEDS)) in page
    assert SPEEDS["date"] in page and SPEEDS["machine"]["processor"] in page
    newer = json.loads((SOURCE / "tools/bench/results-avx512.json").read_text())
    assert "\n".join(compare.table(newer)) in page and newer["date"] in page


# docs/replicated.md is made from its records (test_replicated.py).
PAGES = [SOURCE / "README.md", *(page for page in sorted((SOURCE / "docs").glob("*.md")) if page.name != "replicated.md")]


def decimals(text):
    """The decimal fractions of a text without its code and links."""
    text = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", " ", text, flags=re.S)
    return re.findall(r"(?<![\w.^-])\d+\.\d+(?![\w.]*\d)", text)


def linked(page):
    """Each paragraph or list item of a page that links experiments: its numbers, and what their folders say."""
    for part in re.split(r"\n\s*\n|\n(?=- )", page.read_text()):
        files = [(page.parent / target).resolve() for target in re.findall(r"\]\(([^)#]*experiments/[^)#]*)", part)]
        folders = {file if file.is_dir() else file.parent for file in files}
        said = "\n".join(file.read_text() for folder in folders for name in ("README.md", "results.json")
                         for file in [folder / name] if file.exists())
        yield part, decimals(part) if folders else [], said


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_numbers_beside_a_link_to_an_experiment_stand_there(page):
    for part, numbers, said in linked(page):
        for number in numbers:
            assert re.search(rf"(?<![\d.]){re.escape(number)}0*(?!\d)", said), f"{page.name}: {number} in: {part}"


def test_some_page_has_numbers_of_experiments():
    assert sum(len(numbers) for page in PAGES for _, numbers, _ in linked(page)) > 3
