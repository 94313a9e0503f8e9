"""Plan files of three earlier systems, `brunch`, `ail` and `gsd`, as plans of Weft."""

from weft.plan.convert.ail import called_files
from weft.plan.convert.convert import System, convert
from weft.plan.convert.notes import Converted, ConvertError, Note

__all__ = ["ConvertError", "Converted", "Note", "System", "called_files", "convert"]
