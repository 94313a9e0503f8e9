"""The HTML file of a report: the page, its script, its style and its data in one file that opens from disk.

The policy of the file names the hashes of its script and its style, and allows no request at all. The data is no
script: it is JSON in an element that the browser does not run, and nothing in it can end that element.
"""

import base64
import gzip
import hashlib
import re
from html import escape
from pathlib import Path

import msgspec

from weft.app.read_model.report_shapes import ReportFile
from weft.errors import InputError
from weft.web.server.pages import STATIC

MARK = '<meta name="generator" content="weft report">'
"""By this a report is recognised."""
MISSING = (
    "the page that reports are made of is not part of this installation; in a checkout, type: make setup"
)
_PACKED_FROM = 1 << 20
"""Bytes of data; more than this is compressed."""
_ENDS_SCRIPT = re.compile(r"<(?=/script|script|!--)", re.IGNORECASE)
_ENDS_STYLE = re.compile(r"</(?=style)", re.IGNORECASE)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
{mark}
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body><div id="app"></div><noscript>This page needs JavaScript.</noscript>
<script type="application/{kind}" id="weft-report">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def report_html(report: ReportFile, title: str, *, static: Path = STATIC) -> str:
    """Returns the file. Raises `InputError` if the page is not built."""
    try:
        script = _text(static / "app.js")
        style = _text(static / "app.css")
    except FileNotFoundError:
        raise InputError(MISSING) from None
    # In a string, a template and a regular expression, `\x3C` is the same character.
    script = _ENDS_SCRIPT.sub(r"\\x3C", script)
    style = _ENDS_STYLE.sub(r"<\\/", style)
    kind, data = _data(report)
    return _PAGE.format(
        mark=MARK, policy=_policy(script, style), title=escape(title), style=style, kind=kind, data=data,
        script=script,
    )  # fmt: skip


def is_report(start: str) -> bool:
    """Returns whether a file with this start is a report."""
    return MARK in start


def _text(path: Path) -> str:
    # A browser reads each end of a line as a line feed, and computes the hash from that.
    return path.read_text(encoding="utf-8").replace("\r\n", "\n").replace("\r", "\n")


def _policy(script: str, style: str) -> str:
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data(report: ReportFile) -> tuple[str, str]:
    """Returns the kind and the text of the data."""
    data = msgspec.json.encode(report)
    if len(data) > _PACKED_FROM:
        return "gzip", base64.b64encode(gzip.compress(data, mtime=0)).decode()
    # In JSON this character is only inside of strings, where its escape means the same.
    return "json", data.decode().replace("<", "\\u003c")
