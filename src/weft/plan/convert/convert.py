"""The entry point of conversion: texts of another system in, a plan and notes out."""

from collections.abc import Mapping
from typing import Literal, TypeAlias, assert_never

from weft.errors import InputError
from weft.plan.convert.ail import convert_ail
from weft.plan.convert.brunch import convert_brunch
from weft.plan.convert.gsd import convert_gsd
from weft.plan.convert.names import valid_id
from weft.plan.convert.notes import ConversionNotes, ConversionSource, ConvertedPlan
from weft.plan.text.emit import Plain, to_yaml

System: TypeAlias = Literal["brunch", "ail", "gsd"]
_SUFFIXES = (".yaml", ".yml", ".ail")


def convert(files: Mapping[str, str], source: System, *, name: str | None = None) -> ConvertedPlan:
    """Returns the plan that means the same; raises `ConvertError` if the input is invalid.

    `files` are texts by their names: one for brunch; for ail the file to convert, followed by those that it calls
    (`called_files`); for gsd all files of a folder, by relative path. The plan's id is made from `name`, or else
    from the name of the first file.
    """
    ledger = ConversionNotes()
    body = _body(files, source, ledger)
    # Faults found late must not produce a plan.
    ledger.settle()
    plan: dict[str, Plain] = {"weft": 1, "plan": _plan_id(files, source, name), **body}
    text = to_yaml(plan, comments={(): f"Converted from {source}."})
    return ConvertedPlan(text=text, notes=ledger.notes())


def _body(files: Mapping[str, str], source: System, ledger: ConversionNotes) -> dict[str, Plain]:
    match source:
        case "brunch":
            return convert_brunch(_only(files, ledger))
        case "ail":
            return convert_ail(_sources(files, ledger))
        case "gsd":
            return convert_gsd(files, ledger)
        case _:
            assert_never(source)


def _only(files: Mapping[str, str], ledger: ConversionNotes) -> ConversionSource:
    if len(files) != 1:
        raise InputError(f"one file is needed, not {len(files)}")
    return _sources(files, ledger)[0]


def _sources(files: Mapping[str, str], ledger: ConversionNotes) -> list[ConversionSource]:
    if not files:
        raise InputError("one file is needed, not 0")
    return [ConversionSource(file=file, text=text, ledger=ledger) for file, text in files.items()]


def _plan_id(files: Mapping[str, str], source: System, name: str | None) -> str:
    if name is None:
        name = source if source == "gsd" else next(iter(files)).rpartition("/")[2]
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return valid_id(name, otherwise=source)
