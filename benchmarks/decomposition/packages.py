"""The packages that quality is measured on: which of their files are source, and which releases are taken.

`releases.txt` has a line for each release, the older first: package, version, and the SHA-256 of the archive. Of a
package there are many if half of its releases changed no more than ten files, so that these belong together; else
there is one.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

RELEASES = Path(__file__).parent / "releases.txt"


class Package(Struct, frozen=True, kw_only=True):
    name: str
    archive: Literal["wheel", "sdist", "npm"]
    root: str
    """The folder whose source is looked at, in the archive; its folders are the parts that people made."""
    endings: tuple[str, ...]
    """Of the names of files that are source."""
    without: tuple[str, ...] = ()
    """Files that carry the number of the release, so that each release changes them."""

    def is_source(self, path: str) -> bool:
        inside = not self.root or path.startswith(f"{self.root}/")
        return inside and path.endswith(self.endings) and path not in self.without


class Release(Struct, frozen=True):
    package: str
    version: str
    sha256: str


_JAVASCRIPT = (".js", ".ts", ".tsx")
_C = (".c", ".cc", ".cpp", ".h", ".hpp")

PACKAGES = (
    Package(
        name="hypothesis",
        archive="wheel",
        root="hypothesis",
        endings=(".py",),
        without=("hypothesis/version.py",),
    ),
    Package(name="sequelize", archive="npm", root="lib", endings=(".js",)),
    Package(name="knex", archive="npm", root="lib", endings=(".js",)),
    Package(
        name="pylint", archive="wheel", root="pylint", endings=(".py",), without=("pylint/__pkginfo__.py",)
    ),
    Package(name="poetry", archive="wheel", root="poetry", endings=(".py",)),
    Package(name="textual", archive="wheel", root="textual", endings=(".py",)),
    Package(name="rxjs", archive="npm", root="src/internal", endings=_JAVASCRIPT),
    Package(name="sqlalchemy", archive="wheel", root="sqlalchemy", endings=(".py",)),
    Package(name="mongoose", archive="npm", root="lib", endings=(".js",)),
    Package(name="svelte", archive="npm", root="src", endings=_JAVASCRIPT, without=("src/version.js",)),
    Package(name="discord.js", archive="npm", root="src", endings=(".js",)),
    Package(name="uv", archive="sdist", root="crates", endings=(".rs", "/Cargo.toml")),
    Package(name="webpack", archive="npm", root="lib", endings=(".js",)),
    Package(name="django", archive="wheel", root="django", endings=(".py",), without=("django/__init__.py",)),
    Package(name="grpcio", archive="sdist", root="src/core", endings=_C),
    Package(
        name="checkov", archive="wheel", root="checkov", endings=(".py",), without=("checkov/version.py",)
    ),
    Package(name="duckdb", archive="npm", root="src/duckdb/src", endings=_C),
    Package(
        name="react-native",
        archive="npm",
        root="",
        endings=(*_JAVASCRIPT, *_C, ".java", ".kt", ".m", ".mm"),
    ),
    Package(name="azure-cli", archive="wheel", root="azure/cli/command_modules", endings=(".py",)),
    Package(name="homeassistant", archive="sdist", root="homeassistant/components", endings=(".py",)),
)


def releases() -> Iterator[Release]:
    for line in RELEASES.read_text().splitlines():
        yield Release(*line.split())


def releases_of(package: Package) -> list[Release]:
    return [release for release in releases() if release.package == package.name]
