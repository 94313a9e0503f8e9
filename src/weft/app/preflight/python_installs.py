"""Python packages that are installed as links into the checkout (`pip install -e`).

A test in a worktree that imports such a package gets the code of the checkout, whatever the slice has changed. The
links are found by reading the few files that installers leave in `site-packages`; no Python is started.

PYTHONPATH comes before such links: plain lines of `.pth` files are added at the end of `sys.path`, and the finders
of setuptools and hatchling at the end of `sys.meta_path`. Other installers may put theirs first, so PYTHONPATH is
not relied on for them.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from weft.search_path import find_program

_MOST = 1_000_000
"""The most bytes that are read of a file."""
_EXEC = re.compile(rb"^'''exec' \"?(/[^\"\n]*?)\"? ")
"""The line that pip writes if the path of the interpreter is too long for the first line of a script."""
_KNOWN_FINDERS = ("__editable___", "_editable_impl_")
_BUILT = "__editable__"
_QUOTED_PATH = re.compile(r"""(['"])(/[^'"\n]+)\1""")
"""A path in a finder, which names its packages by absolute paths."""


class CheckoutLink(Struct, frozen=True, kw_only=True):
    """An installed package with its code in the checkout."""

    package: str
    site: Path
    """The `site-packages` that it is installed in."""
    root: Path
    """The directory of the checkout that imports start from."""
    yields_to_path: bool
    """Whether PYTHONPATH certainly comes before it."""


def checkout_links(programs: Iterable[str], top: Path, environ: Mapping[str, str]) -> list[CheckoutLink]:
    """Returns the links into the checkout at `top`, in the environments of these programs."""
    sites = [site for program in programs for site in site_folders(program, environ)]
    return [link for site in dict.fromkeys(sites) for link in _links(site, Path(os.path.realpath(top)))]


# Environments


def site_folders(program: str, environ: Mapping[str, str]) -> list[Path]:
    """Returns the `site-packages` of the environment of a program; empty if it is unknown."""
    place = find_program(program, environ)
    if place is None:
        return []
    prefix = Path(place).parent.parent
    # A virtual environment. Its programs lie in `bin`, so the prefix is two levels up.
    if (prefix / "pyvenv.cfg").exists():
        return _sites(prefix)
    # A script such as pytest belongs to the environment of the Python in its first line.
    interpreter = _interpreter(Path(place))
    if interpreter and interpreter != place:
        return site_folders(interpreter, environ)
    if Path(place).parent.name == "shims":  # pyenv: its own program chooses the version
        return [site for version in sorted((prefix / "versions").glob("*")) for site in _sites(version)]
    home = environ.get("HOME", "")
    users = _sites(Path(home, ".local")) if home else []
    return [*_sites(Path(os.path.realpath(place)).parent.parent), *users]


def _sites(prefix: Path) -> list[Path]:
    patterns = (
        "lib/python3*/site-packages",
        "lib/python3*/dist-packages",
        "local/lib/python3*/dist-packages",
    )
    return [site for pattern in patterns for site in sorted(prefix.glob(pattern))]


def _interpreter(script: Path) -> str:
    """Returns the Python that the first lines of a script name; empty if they name none."""
    try:
        with script.open("rb") as file:
            first, second = file.readline(4096), file.readline(4096)
    except OSError:
        return ""
    match = _EXEC.match(second)
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    if match:
        return os.fsdecode(match[1])
    if words[:1] == ["/usr/bin/env"]:
        words = words[1:]
    return words[0] if words and Path(words[0]).name.startswith("python") else ""


# Links


def _links(site: Path, top: Path) -> Iterator[CheckoutLink]:
    files = {file.name: _lines(file) for file in sorted(site.glob("*.pth"))}
    covered: list[Path] = []
    for file in sorted(site.glob("*.dist-info/direct_url.json")):
        project = _editable(file)
        if project is not None and _is_in(project, top):
            covered.append(project)
            package = file.parent.name.partition("-")[0]
            yields = _yields(package, project, files)
            # `direct_url.json` names the project, not the directory that imports start from (`src` or the top).
            root = _finder_root(site, package, project)
            yield CheckoutLink(package=package, site=site, root=root, yields_to_path=yields)
    for name, lines in files.items():
        for root in _entries(site, lines):
            if _is_in(root, top) and not any(_is_in(root, project) for project in covered):
                package = name.removesuffix(".pth")
                yield CheckoutLink(
                    package=package, site=site, root=root, yields_to_path=_BUILT not in str(root)
                )


def _finder_root(site: Path, package: str, project: Path) -> Path:
    """Returns the directory that the package is imported from, by its finder or by convention."""
    patterns = (f"__editable___{package}_*_finder.py", f"_editable_impl_{package}.py")
    for file in (file for pattern in patterns for file in sorted(site.glob(pattern))):
        for match in _QUOTED_PATH.finditer("\n".join(_lines(file))):
            place = Path(os.path.realpath(match[2]))
            if _is_in(place, project) and place != project:
                return place.parents[1] if place.name == "__init__.py" else place.parent
    return project / "src" if (project / "src").is_dir() else project


def _editable(file: Path) -> Path | None:
    """Returns the project that the package links to; None if it is not installed as a link."""
    try:
        data = json.loads("".join(_lines(file)))
        if data["dir_info"]["editable"] is not True:
            return None
        return Path(os.path.realpath(unquote(urlsplit(str(data["url"])).path)))
    except (ValueError, KeyError, TypeError):
        return None


def _yields(package: str, project: Path, files: Mapping[str, list[str]]) -> bool:
    """Returns whether the link is a plain path, or a finder that is known to come last."""
    for name, lines in files.items():
        is_own = name.startswith((f"{_BUILT}.{package}-", f"_editable_impl_{package}."))
        finders = [line for line in lines if line.startswith("import ")]
        # A `.pth` file may run code. Only the finders of known installers certainly come after PYTHONPATH.
        if is_own and all(line.removeprefix("import ").startswith(_KNOWN_FINDERS) for line in finders):
            return True
        if not is_own and any(_is_in(Path(line), project) for line in lines if line.startswith("/")):
            return True
    return False


def _entries(site: Path, lines: Iterable[str]) -> Iterator[Path]:
    """Yields the directories that a `.pth` file adds to the path."""
    for line in lines:
        if line and not line.startswith(("#", "import ", "import\t")):
            yield Path(os.path.realpath(site / line))


def _is_in(path: Path, folder: Path) -> bool:
    return path == folder or path.is_relative_to(folder)


def _lines(file: Path) -> list[str]:
    try:
        with file.open("rb") as stream:
            return stream.read(_MOST).decode(errors="replace").splitlines()
    except OSError:
        return []


# PYTHONPATH


def can_precede(link: CheckoutLink, top: Path) -> bool:
    """Returns whether the worktree's copy of the root can come first without changing other imports.

    PYTHONPATH comes before the standard library and all installed packages. The root must therefore be a separate
    directory, such as `src`, and no entry in it may have the name of another module.
    """
    if not link.yields_to_path or link.root == Path(os.path.realpath(top)) or not link.root.is_dir():
        return False
    names = {_module(entry.name) for entry in link.root.iterdir()} - {""}
    others = {_module(entry.name) for entry in link.site.iterdir()} - {""}
    return bool(names) and names.isdisjoint(sys.stdlib_module_names) and names.isdisjoint(others)


def _module(name: str) -> str:
    """Returns the name of the module that this directory entry defines; empty if it defines none."""
    stem, _, suffix = name.partition(".")
    return stem if suffix in {"", "py"} and stem.isidentifier() and stem != "__pycache__" else ""
