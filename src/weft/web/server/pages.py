"""The HTML around the page's script, and plain pages without a script. Nothing in them is inline."""

from html import escape
from pathlib import Path

STATIC = Path(__file__).resolve().parents[1] / "static"
"""Where the page is built."""
FILES = {"app.js": "text/javascript", "app.css": "text/css", "app.js.LEGAL.txt": "text/plain"}
MISSING = "the page of `weft ui` is not part of this installation; in a checkout, type: make setup"

_SHELL = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Weft</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/app.css">
<script src="/static/app.js" defer></script>
</head>
<body><div id="app"></div><noscript>This page needs JavaScript.</noscript></body>
</html>
"""


def is_built() -> bool:
    """Returns whether the page is there."""
    return all((STATIC / name).is_file() for name in ("app.js", "app.css"))


def shell() -> str:
    """Returns the page of every route; the script reads the route from the address."""
    return _SHELL if is_built() else plain_page("The page is not built", MISSING)


def plain_page(title: str, text: str, *, body: str = "") -> str:
    """Returns a page without style and script. `body` is HTML."""
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title></head>\n'
        f"<body><h1>{escape(title)}</h1><p>{escape(text)}</p>{body}</body>\n</html>\n"
    )
