"""The panels of the live view: a question in full, the log of a running slice, help; and the line of keys."""

from collections.abc import Callable, Sequence
from typing import assert_never

from weft.app.views.run_view import RunView
from weft.app.views.wording.style import Style
from weft.app.views.wording.words import clock, count
from weft.cells import cells
from weft.cli.live.controls import Controls, Panel, land_question
from weft.cli.terminal import Paragraph, wrap_lines

ReadLog = Callable[[str, int], Sequence[str]]
"""Returns the last lines of the log of a subplan, at most so many."""

_HELP = (
    ("a", "answer a question of the run: shows all of it, then y or n"),
    ("m", "land the results that wait for your consent"),
    ("p", "pause the run, or resume it; running steps finish"),
    ("l", "log of the slice that started last; j and k for the others"),
    ("t", "weft top: all slices, logs, reasons and changes"),
    ("q", ""),
    ("Ctrl-C", ""),
    ("Esc", "closes what a key has opened"),
)
_OWN = {
    "q": "leave it running in the background; weft attach comes back",
    "Ctrl-C": "stops the run gracefully; a second one at once",
}
_ATTACHED = {"q": "leave; the run continues", "Ctrl-C": "the same"}


def panel(
    controls: Controls, view: RunView, now: float, size: tuple[int, int], style: Style, read_log: ReadLog
) -> list[str]:
    """Returns the lines of the open panel, at most as many as fit; empty if none is open."""
    width, height = size
    match controls.panel:
        case Panel.NONE:
            return []
        case Panel.HELP:
            lines = _help(controls, width)
        case Panel.QUESTION:
            lines = _question(controls, view, now, width, style)
        case Panel.LAND:
            paths = [view.outline.paths[row] for row in view.landings.to_agree()]
            lines = [style.paint(land_question(view), "bold"), *(f"  {style.shown(path)}" for path in paths)]
            if len(lines) > height:
                lines = [*lines[: height - 1], f"  {style.more} and {len(lines) - height + 1:,} more"]
        case Panel.LEAVE:
            lines = [
                style.paint("Leave the run in the background?", "bold"),
                *_wrap("Running steps continue. To come back, type: weft attach", width),
            ]
        case Panel.LOG:
            return _log(controls, view, size, style, read_log)
        case _:
            assert_never(controls.panel)
    return _scrolled(controls, [style.cut(line, width) for line in lines], height, style)


def _scrolled(controls: Controls, lines: list[str], height: int, style: Style) -> list[str]:
    if len(lines) <= height:
        controls.offset = 0
        return lines
    room = height - 1
    controls.offset = min(controls.offset, len(lines) - room)
    below = len(lines) - room - controls.offset
    more = f"{style.more} {count(below, 'more line')}: j" if below else f"{style.more} the end; k goes back"
    return [*lines[controls.offset : controls.offset + room], style.paint(more, "dim")]


def _wrap(text: str, width: int) -> list[str]:
    return list(wrap_lines([Paragraph(text)], width))


def _help(controls: Controls, width: int) -> list[str]:
    special = _OWN if controls.is_own else _ATTACHED
    entries = [(key, special.get(key, does)) for key, does in _HELP]
    return [line for key, does in entries for line in wrap_lines([Paragraph(f"{key:<8}{does}", 8)], width)]


def _question(controls: Controls, view: RunView, now: float, width: int, style: Style) -> list[str]:
    questions = controls.questions(view)
    if not questions:
        return ["no question is open any more"]
    asked = questions[0]
    since = clock(max(0.0, now - asked.question.asked_at))
    more = f"; {count(len(questions) - 1, 'more question')} after it" if len(questions) > 1 else ""
    head = f"{style.shown(asked.path)}:{asked.step} asks, since {since}{more}"
    text = [style.shown(line) for line in asked.question.text.splitlines()]
    return [
        style.paint(style.cut(head, width), "yellow"),
        *(line for each in text for line in _wrap(each, width)),
    ]


def _log(
    controls: Controls, view: RunView, size: tuple[int, int], style: Style, read_log: ReadLog
) -> list[str]:
    width, height = size
    running = controls.running(view)
    if not running:
        return ["no step runs any more"]
    controls.offset = min(controls.offset, len(running) - 1)
    path = running[controls.offset]
    more = f"  ({controls.offset + 1} of {len(running):,}: j, k)" if len(running) > 1 else ""
    head = style.paint(style.cut(f"{style.shown(path)}{more}", width), "bold")
    lines = [style.cut(style.shown(line), width) for line in read_log(path, height - 1)]
    return [head, *(lines or [style.paint("no output yet", "dim")])]


def hint_line(controls: Controls, view: RunView, width: int, style: Style) -> str:
    """Returns the line of keys; the result of the last command takes its place until the next key."""
    if controls.note:
        return style.paint(style.cut(style.shown(controls.note), width), "cyan")
    match controls.panel:
        case Panel.QUESTION if controls.questions(view):
            keys = [("y", "yes"), ("n", "no"), ("Esc", "back")]
        case Panel.LAND | Panel.LEAVE:
            keys = [("y", "yes"), ("n", "no")]
        case Panel.NONE:
            keys = controls.keys(view)
        case _:
            keys = [("Esc", "back")]
    return _keys(keys, width, style)


def _keys(keys: Sequence[tuple[str, str]], width: int, style: Style) -> str:
    """Returns as many keys as fit. `?` always fits, because it explains the others."""
    shown, used = list[str](), 0
    last = [key for key in keys if key[0] == "?"]
    reserved = sum(len(key) + len(does) + 3 for key, does in last)
    for key, does in [*(key for key in keys if key not in last), *last]:
        size = cells(f"{key} {does}") + (2 if shown else 0)
        if used + size + (reserved if (key, does) not in last else 0) > width:
            continue
        shown.append(f"{style.paint(key, 'bold')} {style.paint(does, 'dim')}")
        used += size
    return "  ".join(shown)
