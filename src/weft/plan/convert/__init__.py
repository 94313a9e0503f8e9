"""Plan files of three earlier systems, `brunch`, `ail` and `gsd`, as plans of Weft."""

from weft.plan.convert.ail import called_files
from weft.plan.convert.convert import System, convert
from weft.plan.convert.notes import ConvertedPlan, ConvertError, Note

__all__ = ["ConvertError", "ConvertedPlan", "Note", "System", "called_files", "convert"]
