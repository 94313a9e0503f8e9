"""The data of a decomposition: signals about a set of files, and the tree of parts."""

import re
from collections.abc import Iterator

from msgspec import Struct

from weft.errors import ConfigError

LONGEST_ID = 64
ID = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{LONGEST_ID - 1}}}")
"""A valid id in a plan."""
FEW_FILES = 50
"""Below this, a tree of more than two levels would be more to read than the files."""
DEPTH_FOR_FEW_FILES = 2
A_COMMIT = 1000
"""The weight of a commit that changed exactly two files."""


class Limits(Struct, frozen=True, kw_only=True):
    """The limits below which a part is not split further."""

    max_depth: int = 6
    min_files_per_subplan: int = 3
    max_files_per_subplan: int = 25
    max_tokens_per_subplan: int = 100_000

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigError(f"{name} must be a whole number from 1 on, and is {value!r}")
        if self.min_files_per_subplan > self.max_files_per_subplan:
            raise ConfigError(
                f"min_files_per_subplan is {self.min_files_per_subplan}, and max_files_per_subplan only "
                f"{self.max_files_per_subplan}; give a maximum that is not below the minimum"
            )

    def depth_for(self, files: int) -> int:
        """Returns the greatest depth of a tree for so many files."""
        return min(self.max_depth, DEPTH_FOR_FEW_FILES) if files < FEW_FILES else self.max_depth


class Signals(Struct, frozen=True, kw_only=True):
    """The evidence on which files belong together. Files are numbered in the order of their paths."""

    paths: tuple[str, ...]
    """Relative to the root of the set, with `/`; sorted and unique."""
    tokens: tuple[int, ...]
    """The estimated number of tokens in each file."""
    uses: tuple[tuple[int, int], ...] = ()
    """References as pairs of user and used file; sorted and unique, without self-references."""
    together: tuple[tuple[int, int, int], ...] = ()
    """Two files, the smaller number first, and the weight of the commits that changed both, in thousandths
    (`A_COMMIT`). A commit's weight is divided among the other files it changed; sorted."""
    symbols: tuple[str, ...] = ()
    """For each file the name that most others import from it, or an empty string. Empty if names are not known."""
    attachments: tuple[int, ...] = ()
    """Files that are no work of their own, such as pictures: each joins a leaf of other files. Sorted; never all
    files."""


class Risk(Struct, frozen=True, kw_only=True):
    """Two sibling parts with files that may conflict, and without an order between them."""

    first: str
    second: str
    circle: bool
    """Whether they refer to each other in a circle, so that no order fits. Otherwise they only tend to change
    together."""
    links: int
    """The number of linked pairs of files."""
    files: tuple[tuple[str, str], ...]
    """Some of the pairs, the most strongly linked first."""


class Part(Struct, frozen=True, kw_only=True):
    """A node of the tree. A leaf has files and no parts; a group has the files of all its parts."""

    id: str
    title: str
    files: tuple[str, ...]
    tokens: int
    parts: tuple["Part", ...] = ()
    depends_on: tuple[str, ...] = ()
    """As in plans: ids of siblings, or paths from the top such as `/store/model`."""
    risks: tuple[Risk, ...] = ()
    """Risks between its parts."""
    too_large: bool = False
    """Whether a leaf has more tokens than an agent should read, because it could not be split further. Its number
    of files does not matter: an agent is limited by how much it reads."""
    prompt: str = ""
    """The task of a leaf, if an agent has written one."""

    def leaves(self) -> Iterator["Part"]:
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()

    @property
    def depth(self) -> int:
        """The number of levels below; 0 for a leaf."""
        return max((part.depth + 1 for part in self.parts), default=0)
