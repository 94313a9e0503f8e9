"""Turns a terminal's screen into a picture: ANSI text on standard input, SVG on standard output.

tmux capture-pane -ept demo | python docs/pictures/ansi_to_svg.py "weft run" > docs/pictures/demo.svg
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
# No fonts from elsewhere: a page that shows the picture must not call anybody.
sys.stdout.write(re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL))
