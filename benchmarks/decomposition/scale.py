"""What it takes to decompose a project of so many files.

They are put into a temporary directory. *Made* ones are packages of 20 modules, four folders deep, with most
references near by. *Published* ones are those of the packages that quality is measured on, each as often as it
takes: what a parser meets in them is what people write, in eight languages.
"""

import os
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

from benchmarks.decomposition.fetching import archive_of, files_in
from benchmarks.decomposition.packages import PACKAGES, releases_of
from weft.app.decompose.decompose import propose
from weft.decompose.model import Limits

IN_A_FOLDER = 20
BODY = "def function(argument):\n    return argument + 1\n\n\n" * 20


def folder(number: int) -> str:
    return f"p{number // 1000}/q{number // 100 % 10}/r{number // 10 % 10}/s{number % 10}"


def text(chance: random.Random, own: int, folders: int) -> str:
    lines: list[str] = []
    for _ in range(6):
        near = min(folders - 1, max(0, own + chance.randint(-15, 15)))
        package = chance.choices((own, near, chance.randrange(folders)), (60, 32, 8))[0]
        lines.append(f"from {folder(package).replace('/', '.')} import m{chance.randrange(IN_A_FOLDER)}\n")
    return "".join(lines) + BODY


def make(root: Path, files: int) -> None:
    chance = random.Random(3)
    folders = files // IN_A_FOLDER
    for number in range(folders):
        place = root / folder(number)
        place.mkdir(parents=True)
        for module in range(IN_A_FOLDER):
            (place / f"m{module}.py").write_text(text(chance, number, folders))


def copy(root: Path, files: int, cache: Path) -> None:
    """One after the other, and again from the archives for each copy, so that they need no memory."""
    for path, content in islice(_copies(cache), files):
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def _copies(cache: Path) -> Iterator[tuple[str, bytes]]:
    for number, package in ((number, package) for number in count() for package in PACKAGES):
        for path, content in files_in(archive_of(package, releases_of(package)[-1], cache)):
            if package.is_source(path):
                yield f"copy{number}/{package.name}/{path}", content


def scale(files: int, cache: Path | None = None) -> int:
    """Made files, or published ones if it is said where these are kept."""
    with tempfile.TemporaryDirectory() as name:
        if cache is None:
            make(Path(name), files)
        else:
            copy(Path(name), files, cache)
        begin = time.process_time()
        found = propose(Path(name), "Try it.", globs=(), limits=Limits(), environ=os.environ)
        seconds = time.process_time() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    leaves = list(found.whole.leaves())
    print(
        f"{files:,} files: {seconds:.1f} s of CPU, {memory:,} MB; {len(leaves):,} slices, "
        f"{found.whole.depth} levels, {100 * found.references_inside // found.references} % of "
        f"{found.references:,} references inside"
    )
    return 0
