"""Remove the home directories of steps once their run has finished and cannot be resumed."""

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from weft.app.project.files import failure
from weft.app.project.places import Places
from weft.ports.journal import RunRecord
from weft.terms import FINISHED
from weft.workspaces.git.leftovers import RemovableRef


def clean_homes(places: Places, runs: Iterable[RunRecord], *, dry_run: bool) -> Iterator[RemovableRef]:
    for record in runs:
        homes = places.homes(record.run)
        if record.state in FINISHED and homes.is_dir() and not homes.is_symlink():
            if not dry_run:
                _remove(homes)
            yield RemovableRef(kind="homes", name=str(homes), commit="")


def _remove(homes: Path) -> None:
    """Removes the directory, including read-only directories that some programs create in their home."""
    try:
        for folder, names, _ in os.walk(homes):
            for name in names:
                inner = Path(folder, name)
                if not inner.is_symlink():
                    # Go's module cache is read-only, for example, and `rmtree` cannot empty a directory that it
                    # may not write.
                    inner.chmod(0o700)
        shutil.rmtree(homes)
    except OSError as error:
        raise failure(f"cannot remove {homes}", error) from None
