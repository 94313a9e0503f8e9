"""Homes that steps had of their own are removed when their run has ended: nothing goes on in them any more."""

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from weft.app.project.files import failure
from weft.app.project.places import Places
from weft.engine.messages.run_status import FINISHED
from weft.ports.journal import RunRecord
from weft.workspaces.git.leftovers import RemovableRef


def clean_homes(places: Places, runs: Iterable[RunRecord], *, dry_run: bool) -> Iterator[RemovableRef]:
    for one in runs:
        homes = places.homes(one.run)
        if one.state in FINISHED and homes.is_dir() and not homes.is_symlink():
            if not dry_run:
                _remove(homes)
            yield RemovableRef(kind="homes", name=str(homes), commit="")


def _remove(homes: Path) -> None:
    """Some programs keep things there that are not to be written."""
    try:
        for folder, names, _ in os.walk(homes):
            for name in names:
                inner = Path(folder, name)
                if not inner.is_symlink():
                    inner.chmod(0o700)
        shutil.rmtree(homes)
    except OSError as error:
        raise failure(f"cannot remove {homes}", error) from None
