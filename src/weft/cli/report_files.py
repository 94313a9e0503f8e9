"""Writing HTML files: never over a file of another kind, and never a part of one."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import click

from weft.errors import InputError

_START = 1_000
"""Characters in which a report names itself."""

force_option = click.option("--force", is_flag=True, help="Replace the file even if it is no report.")


def write_report(path: Path, text: str, *, force: bool) -> None:
    """Writes the file as a whole; raises `InputError` if it cannot, or if another file is there."""
    path = path.resolve()
    if path.exists() and not force and not _is_report(path):
        raise InputError(f"{path} exists and is no report; to replace it, add --force")
    try:
        _replace(path, text)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def _is_report(path: Path) -> bool:
    from weft.web.report_page import is_report

    if not path.is_file():
        return False
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return is_report(file.read(_START))
    except OSError:
        return False


def _replace(path: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        # `mkstemp` lets only this user read; the file is to be as any other that this user makes.
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
