"""What it takes to decompose a project of so many files.

They are made in a temporary directory: packages of 20 modules, four folders deep, with most references near by.
"""

import os
import random
import resource
import tempfile
import time
from pathlib import Path

from weft.app.decomposing import propose
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


def scale(files: int) -> int:
    with tempfile.TemporaryDirectory() as name:
        make(Path(name), files)
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
