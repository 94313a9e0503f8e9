"""What refs and worktrees are called. Names are flat, so that none is the folder of another.

refs/heads/weft/<plan>/<path with dots>    the branch of a slice, or of a group, in which its slices come together
refs/heads/weft/<plan>/_plan               that of the whole plan
refs/weft/start/<plan>/<path with dots>    where the branch of a slice began, or that of a group last followed
refs/weft/told/<plan>/<path with dots>     where it was when its last step began; of a group: before our last move
refs/weft/tip/<plan>/<path with dots>      where it was when a step was last recorded; of a group: as we left it
refs/weft/passed/<plan>/<path with dots>   what its verify has passed on; of a group, what it was started on
refs/weft/merging/<plan>/<path with dots>  what is to be merged, while it is verified
refs/weft/kept/<plan>/<path with dots>/…   commits that nothing else leads to any more: nothing is ever lost
"""

from msgspec import Struct

from weft.ids import file_name


def dotted(path: str) -> str:
    """The flat name of a subplan; git allows none that ends with `.lock`, or has two dots in a row."""
    name = file_name(path).replace("..", ".")  # there are two where a long name was cut before a dot
    return f"{name}@" if name.endswith(".lock") else name


class RefNames(Struct, frozen=True):
    plan: str
    prefix: str = "weft/"
    """What the names of branches begin with."""

    def branch(self, path: str) -> str:
        """As people name it."""
        return f"{self.prefix}{self.plan}/{dotted(path)}"

    def head(self, path: str) -> str:
        """The same as a full ref."""
        return f"refs/heads/{self.branch(path)}"

    def start(self, path: str) -> str:
        return f"refs/weft/start/{self.plan}/{dotted(path)}"

    def told(self, path: str) -> str:
        return f"refs/weft/told/{self.plan}/{dotted(path)}"

    def tip(self, path: str) -> str:
        return f"refs/weft/tip/{self.plan}/{dotted(path)}"

    def passed(self, path: str) -> str:
        return f"refs/weft/passed/{self.plan}/{dotted(path)}"

    def merging(self, path: str) -> str:
        return f"refs/weft/merging/{self.plan}/{dotted(path)}"

    def kept(self, path: str, commit: str) -> str:
        return f"refs/weft/kept/{self.plan}/{dotted(path)}/{commit[:16]}"
