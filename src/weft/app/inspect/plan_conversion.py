"""The work of `weft convert`: converts plan files of other systems, and loads the result as a check."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.app.project.files import STDIN, InputSource, failure, read_text
from weft.errors import InputError
from weft.plan.convert import ConvertedPlan, called_files, convert
from weft.plan.convert import System as System  # noqa: PLC0414 - a part of what this module offers
from weft.plan.loader.load import load_plan
from weft.plan.text.document import LIMITS
from weft.plan.text.problems import PlanError

MOST_FILES = 10_000
MOST_CALLED = 1_000
_READ = (".md", "preferences.yaml", "preferences.yml")
_NOT_LOOKED_INTO = frozenset({".git", "node_modules"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """A converted plan and the errors in it."""

    converted: ConvertedPlan
    refused: PlanError | None
    """The errors of the result; None if it is a valid plan."""

    def to_json(self) -> dict[str, Any]:
        problems = () if self.refused is None else self.refused.problems
        return {
            "notes": [
                {"file": note.file, "line": note.line, "what": note.what, "why": note.why}
                for note in self.converted.notes
            ],
            "valid": self.refused is None,
            "problems": [problem.to_json() for problem in problems],
        }


def convert_plan(source: InputSource, system: System, *, shown: str = "the converted plan") -> Conversion:
    """Converts the file or directory. Messages call the result `shown`."""
    folder = source.path if source.path is not None and os.path.isdir(source.path) else None  # noqa: PTH112
    if folder is None:
        text = read_text(source, most=LIMITS.size)
        files = {source.shown: text}
        if system == "ail" and source.path is not None:
            files |= _called_files(source.shown, text, source.path)
    elif system == "gsd":
        files = dict(_texts(source, folder))
    else:
        raise InputError(f"cannot read {source.shown}: is a directory; plans of {system} are single files")
    converted = convert(files, system, name=_name(source, system, folder))
    return Conversion(converted=converted, refused=_refusal(converted, shown))


def _name(source: InputSource, system: System, folder: Path | None) -> str | None:
    """Returns the id for the plan. For a directory such as `.gsd` it is the name of the directory around it."""
    if folder is None:
        return system if source.name == STDIN else None
    real = Path(os.path.realpath(folder))
    return next((place.name for place in (real, *real.parents) if not place.name.startswith(".")), system)


def _called_files(shown: str, text: str, path: Path) -> dict[str, str]:
    """Returns the texts of the files that an ail pipeline calls, directly or indirectly, if they exist."""
    texts: dict[str, str] = {}
    remaining = LIMITS.size - len(text.encode())
    waiting = called_files(shown, text)
    while waiting and len(texts) < MOST_CALLED:
        name = waiting.pop(0)
        place = path.parent / os.path.relpath(name, Path(shown).parent)
        # Pipelines can call each other in a circle.
        if name not in texts and name != os.path.normpath(shown) and place.is_file():
            texts[name] = read_text(InputSource(name=str(place), label=name), most=remaining)
            remaining -= len(texts[name].encode())
            waiting += called_files(name, texts[name])
    return texts


def _texts(source: InputSource, folder: Path) -> Iterator[tuple[str, str]]:
    """Yields the texts below a directory by name. Together they may be as large as a plan."""
    remaining = LIMITS.size
    for number, path in enumerate(sorted(_paths(source, folder))):
        if number == MOST_FILES:
            raise InputError(
                f"{source.shown} holds more than {MOST_FILES:,} files; name the folder of the plan"
            )
        name = Path(source.name, path.relative_to(folder)).as_posix()
        text = read_text(InputSource(name=str(path), label=name), most=remaining)
        remaining -= len(text.encode())
        yield name, text


def _paths(source: InputSource, folder: Path) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        raise failure(f"cannot read {error.filename or source.shown}", error)

    for place, folders, files in os.walk(folder, onerror=unreadable):
        folders[:] = [name for name in folders if name not in _NOT_LOOKED_INTO]
        yield from (Path(place, name) for name in files if name.lower().endswith(_READ))


def _refusal(converted: ConvertedPlan, shown: str) -> PlanError | None:
    try:
        # The converters work on text that people wrote for other programs, so only the loader can say whether the
        # result holds.
        load_plan(converted.text, shown)
    except PlanError as error:
        return error
    return None
