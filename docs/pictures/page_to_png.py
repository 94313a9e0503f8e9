"""Takes a picture of the page of `weft ui` that shows the last run of a project, as a small PNG with 256 colours.

After `make demo`, which prints its directory, and once `make test-ui` has made the environment with the browser:

    .venv-ui/bin/python docs/pictures/page_to_png.py DIRECTORY docs/pictures/page.png
"""

import struct
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from ui.chromium import FLAGS, find_chromium
from ui.projects import server

WIDTH = 1200
SIGNATURE = b"\x89PNG\r\n\x1a\n"
PAETH, RGBA = 4, 6
Colour = tuple[int, ...]


def take_screenshot(project: Path) -> bytes:
    with server(project) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        page = browser.new_page(viewport={"width": WIDTH, "height": 800}, color_scheme="light")
        page.goto(url)
        page.goto(f"{url.partition('/?')[0]}/r/last")
        page.get_by_role("checkbox", name="Show finished").check()
        expect(page.get_by_role("treegrid")).to_be_visible()
        # A window as high as the page: the head of the page stays where it is.
        height = page.evaluate("document.getElementById('content').getBoundingClientRect().bottom + scrollY")
        page.set_viewport_size({"width": WIDTH, "height": int(height)})
        page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
        picture = page.screenshot(animations="disabled")
        browser.close()
    return picture


def read_chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at < len(picture):
        (length,) = struct.unpack_from(">I", picture, at)
        yield picture[at + 4 : at + 8], picture[at + 8 : at + 8 + length]
        at += 12 + length


def write_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def restore(kind: int, line: bytearray, above: bytearray, size: int) -> None:
    """Undoes the filter of a line, in place."""
    for at, value in enumerate(line):
        left = line[at - size] if at >= size else 0
        corner = above[at - size] if at >= size else 0
        line[at] = value + predict(kind, left, above[at], corner) & 0xFF


def predict(kind: int, left: int, up: int, corner: int) -> int:
    if kind == PAETH:
        return min((left, up, corner), key=lambda value: abs(left + up - corner - value))
    return (0, left, up, (left + up) // 2)[kind]


def read_pixels(picture: bytes) -> tuple[int, list[list[Colour]]]:
    """Returns the width and the lines of a picture as Chromium writes it: 8 bits, RGB or RGBA."""
    chunks = list(read_chunks(picture))
    width, height, _depth, colour = struct.unpack_from(">IIBB", chunks[0][1])
    size = 4 if colour == RGBA else 3
    data = zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT"))
    above = bytearray(width * size)
    lines: list[list[Colour]] = []
    for row in range(height):
        start = row * (width * size + 1)
        line = bytearray(data[start + 1 : start + 1 + width * size])
        if data[start]:
            restore(data[start], line, above, size)
        lines.append([tuple(line[at : at + 3]) for at in range(0, len(line), size)])
        above = line
    return width, lines


def reduce_colours(width: int, lines: list[list[Colour]]) -> bytes:
    """Returns the picture with its 256 most frequent colours; others become the nearest of them."""
    counts = Counter(colour for line in lines for colour in line)
    palette = [colour for colour, _count in counts.most_common(256)]

    @cache
    def nearest(colour: Colour) -> int:
        return min(
            range(len(palette)),
            key=lambda at: sum((a - b) ** 2 for a, b in zip(palette[at], colour, strict=True)),
        )

    data = b"".join(b"\0" + bytes(map(nearest, line)) for line in lines)
    return b"".join(
        (
            SIGNATURE,
            write_chunk(b"IHDR", struct.pack(">IIBBBBB", width, len(lines), 8, 3, 0, 0, 0)),
            write_chunk(b"PLTE", b"".join(map(bytes, palette))),
            write_chunk(b"IDAT", zlib.compress(data, 9)),
            write_chunk(b"IEND", b""),
        )
    )


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(reduce_colours(*read_pixels(take_screenshot(Path(sys.argv[1])))))
