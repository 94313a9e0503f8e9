"""Turns a terminal's screen into a picture: ANSI text on standard input, SVG on standard output.

While `make demo` runs in a session of tmux called `demo`, 120 columns wide:

    tmux capture-pane -ept demo | python docs/pictures/ansi_to_svg.py "weft run" > docs/pictures/demo.svg

The picture in README.md is two such screens, one below the other, with `ESC[0m` between them.
"""

import io
import re
import sys

from rich.console import Console
from rich.text import Text

screen = Text.from_ansi(sys.stdin.read().rstrip())
console = Console(
    record=True, width=max(len(line) for line in screen.plain.splitlines()) + 1, file=io.StringIO()
)
console.print(screen)
picture = console.export_svg(title=sys.argv[1])
# No fonts from elsewhere: a page that shows the picture must not call anybody. And all who draw keep its blanks.
picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
sys.stdout.write(picture.replace("<svg ", '<svg xml:space="preserve" ', 1))
