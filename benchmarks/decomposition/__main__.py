"""`python -m benchmarks.decomposition scale [--published] [FILES]`, or `quality [PACKAGE ...]`."""

import argparse
import sys
from pathlib import Path

from benchmarks.decomposition.packages import PACKAGES
from benchmarks.decomposition.quality import quality
from benchmarks.decomposition.scale import scale

CACHE = Path.home() / ".cache" / "weft-benchmarks"


def main(argv: list[str] | None = None) -> int:
    names = [package.name for package in PACKAGES]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decomposition", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    of_scale = commands.add_parser("scale", help="what it takes to decompose so many files")
    of_scale.add_argument("files", nargs="?", type=int, default=100_000)
    of_scale.add_argument("--published", action="store_true", help="of packages, instead of made ones")
    of_quality = commands.add_parser("quality", help="ours beside folders and chance, on published packages")
    of_quality.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"of {', '.join(names)}; else all")
    for command in (of_scale, of_quality):
        command.add_argument("--cache", type=Path, default=CACHE, help="where what is fetched is kept")
    asked = parser.parse_args(argv)
    if asked.command == "scale":
        return scale(asked.files, asked.cache if asked.published else None)
    if unknown := set(asked.packages).difference(names):
        parser.error(f"there is no package {' or '.join(sorted(unknown))}; there are {', '.join(names)}")
    return quality(asked.cache, asked.packages)


if __name__ == "__main__":
    sys.exit(main())
