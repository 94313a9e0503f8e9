"""Published archives, as data: fetched once into a directory, and read without unpacking or running any of it.

Where packages come from is what pip and npm are set up with.
"""

import hashlib
import html
import os
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from urllib.request import urlopen

from benchmarks.decomposition.packages import Package, Release


def archive_of(package: Package, release: Release, store: Path) -> Path:
    """Raises `SystemExit` if what is published is not what was."""
    path = store / f"{release.package}-{release.version}.{package.archive}"
    if not path.exists():
        store.mkdir(parents=True, exist_ok=True)
        data = _packed(release) if package.archive == "npm" else _downloaded(release)
        partial = path.with_suffix(".partial")
        partial.write_bytes(data)
        partial.rename(path)
    if hashlib.sha256(path.read_bytes()).hexdigest() != release.sha256:
        path.unlink()
        raise SystemExit(f"{path.name} is not what releases.txt says: its SHA-256 is another one")
    return path


def files_in(path: Path) -> Iterator[tuple[str, bytes]]:
    """Plain files, from the top of the package."""
    if path.suffix == ".wheel":
        with zipfile.ZipFile(path) as wheel:
            yield from ((name, wheel.read(name)) for name in wheel.namelist() if not name.endswith("/"))
        return
    with tarfile.open(path) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is not None:
                yield member.name.partition("/")[2], stream.read()


def _packed(release: Release) -> bytes:
    what = f"{release.package}@{release.version}"
    told = subprocess.run(["npm", "view", what, "dist.tarball"], check=True, capture_output=True, text=True)
    return _content(told.stdout.strip())


def _downloaded(release: Release) -> bytes:
    for address, sha256 in _published(release.package):
        if sha256 == release.sha256:
            return _content(address)
    raise SystemExit(f"no archive of {release.package} has the SHA-256 of {release.version} in releases.txt")


@cache
def _published(name: str) -> list[tuple[str, str]]:
    """Address and SHA-256 of all archives of a package."""
    page = f"{_index().rstrip('/')}/{name}/"
    links = re.findall(r'href="([^"#]+)#sha256=([0-9a-f]{64})"', _content(page).decode())
    return [(urljoin(page, html.unescape(address)), sha256) for address, sha256 in links]


def _index() -> str:
    from pip._internal.models.index import PyPI  # noqa: PLC0415 - pip has no other way to say where it looks

    return os.environ.get("PIP_INDEX_URL") or PyPI.simple_url


def _content(address: str) -> bytes:
    if urlsplit(address).scheme != "https":
        raise SystemExit(f"{address} is not a secure address")
    with urlopen(address, timeout=180) as answer:
        return bytes(answer.read())
