"""Names of things. Each is a string that the type checker keeps apart from the others."""

from typing import NewType

PlaceId = NewType("PlaceId", str)
TransitionId = NewType("TransitionId", str)
OutcomeName = NewType("OutcomeName", str)
SubplanPath = NewType("SubplanPath", str)
"""Where a subplan stands in its tree: the ids from the root, joined by `/`."""
