"""The page of `fedstride privacy audit --out`: the audit's answer as the program computed it, as HTML or Markdown."""

from html import escape
from pathlib import Path

from .text import rounded_up, write_file

_STYLE = ("body{max-width:46em;margin:2em auto;padding:0 1em;font:16px/1.5 sans-serif;color:#222;background:#fff}"
          "table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.25em .6em;text-align:left}"
          "@media(prefers-color-scheme:dark){body{color:#ddd;background:#1a1a1a}}")


def _shown(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "none" if value is None else str(value)
    return rounded_up(value)


def _blocks(audit, run):
    """Pairs of a kind ("h1", "h2", "p", "list", "table") and its content."""
    yield "h1", f"Privacy audit of {run}: {audit['verdict']}"
    yield from (("p", one) for one in audit["plain"])
    if audit["failures"]:
        yield "h2", "Faults"
        yield "list", audit["failures"]
    yield "h2", "Numbers, each by two accountants"
    keys = ("level", "who", "epsilon", "delta", "budget", "accountant", "second_epsilon", "second_accountant")
    yield "table", [[key.replace("_", " ") for key in keys]] + [[_shown(one[key]) for key in keys] for one in audit["statements"]]
    for one in audit["statements"]:
        if not one["who"].startswith("client "):  # the lines of --clients assume the same
            yield "h2", f"What the statement at {one['level']} level assumes, and what it does not cover"
            yield "list", one["assumptions"]
    for heading, key in (("Not checked: nothing in the folder confirms it", "not_checked"),
                         ("Secrets on which this depends", "depends_on"), ("Notes", "notes")):
        if audit[key]:
            yield "h2", heading
            yield "list", audit[key]


def _html(kind, content):
    if kind == "list":
        return "<ul>" + "".join(f"<li>{escape(one)}</li>" for one in content) + "</ul>"
    if kind == "table":
        rows = ("".join(f"<{tag}>{escape(one)}</{tag}>" for one in row) for tag, row in zip(["th"] + ["td"] * len(content), content))
        return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"
    return f"<{kind}>{escape(content)}</{kind}>"


def _markdown(kind, content):
    def plain(text):
        return "".join("\\" + sign if sign in "\\`*_[]<>|#" else sign for sign in text)

    if kind == "list":
        return "\n".join(f"- {plain(one)}" for one in content)
    if kind == "table":
        lines = ["| " + " | ".join(map(plain, row)) + " |" for row in content]
        return "\n".join([lines[0], "|" + " --- |" * len(content[0]), *lines[1:]])
    return {"h1": "# ", "h2": "## ", "p": ""}[kind] + plain(content)


def write_audit(audit, run, out):
    """Writes the page to `out`, whose name ends in .html or .md."""
    blocks = list(_blocks(audit, run))
    if Path(out).suffix == ".md":
        return write_file(out, "\n\n".join(_markdown(*one) for one in blocks) + "\n")
    body = "\n".join(_html(*one) for one in blocks)
    write_file(out, f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(blocks[0][1])}</title>\n'
                    f"<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n")
