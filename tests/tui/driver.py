"""A person at `weft top`: keys, and the text on the screen."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.pilot import Pilot

from weft.app.views.wording.style import Style
from weft.tui.app import TopApp
from weft.tui.source import RunSource

Script = Callable[[TopApp, Pilot[None]], Awaitable[None]]


def text_of(app: TopApp) -> list[str]:
    """The lines of the screen, without what is different each time."""
    width, height = app.size
    lines = [
        "".join(part.text for part in strip).rstrip() for strip in app.screen._compositor.render_strips()
    ]
    assert len(lines) == height
    assert all(len(line) <= width for line in lines)
    return [re.sub(r"\d+:\d\d", "0:00", line) for line in lines]


def shown(app: TopApp) -> str:
    return "\n".join(text_of(app))


async def settled(app: TopApp, pilot: Pilot[None]) -> None:
    """Waits until the journal is read and drawn, and no command runs."""
    await app.workers.wait_for_complete()
    await pilot.pause()
    while app._follower is not None and app._follower.is_reading:
        app._tick()
        await pilot.pause()
    if app._follower is not None:
        app._tick()
        app._draw(app._follower)
    await pilot.pause()


def drive(root: Path, script: Script, *, size: tuple[int, int] = (80, 16), run: str | None = None) -> None:
    async def play() -> None:
        source = RunSource(root, run)
        source.require()
        app = TopApp(source, Style(colours=False))
        async with app.run_test(size=size) as pilot:
            await settled(app, pilot)
            await script(app, pilot)
        source.close()

    asyncio.run(play())
