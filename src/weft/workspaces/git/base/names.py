"""The names of refs and worktrees. Names are flat, so that no name is the folder of another.

refs/heads/weft/<plan>/<path with dots>    the branch of a slice, or the integration branch of a group
refs/heads/weft/<plan>/_plan               the integration branch of the plan
refs/weft/start/<plan>/<path with dots>    slice: where its branch started; group: the commit it last followed
refs/weft/told/<plan>/<path with dots>     slice: its tip at its last step's start; group: before Weft's last move
refs/weft/tip/<plan>/<path with dots>      slice: its tip at the last recorded step; group: after Weft's last move
refs/weft/passed/<plan>/<path with dots>   slice: the commit that passed verify; group: the commit it started on
refs/weft/merging/<plan>/<path with dots>  the merge commit that is being verified
refs/weft/kept/<plan>/<path with dots>/…   kept work: commits that no other ref leads to any more
"""

from msgspec import Struct

from weft.ids import file_name


def dotted(path: str) -> str:
    """Returns the flat name of a subplan. git allows no name that ends with `.lock` or has two dots in a row."""
    # A branch `a` and a branch `a/b` cannot both exist, because git stores refs as files and directories.
    # Subplans nest, so their paths are flattened.
    name = file_name(path).replace("..", ".")  # shortening a long name before a dot gives two in a row
    return f"{name}@" if name.endswith(".lock") else name


class RefNames(Struct, frozen=True):
    """The names of a plan's refs."""

    plan: str
    prefix: str = "weft/"
    """The prefix of branch names."""

    def branch(self, path: str) -> str:
        """Returns the short name of the subplan's branch."""
        return f"{self.prefix}{self.plan}/{dotted(path)}"

    def head(self, path: str) -> str:
        """Returns the full ref of the subplan's branch."""
        return f"refs/heads/{self.branch(path)}"

    def start(self, path: str) -> str:
        return f"refs/weft/start/{self.plan}/{dotted(path)}"

    def reported(self, path: str) -> str:
        # The ref keeps its first name, because existing repositories have it.
        return f"refs/weft/told/{self.plan}/{dotted(path)}"

    def tip(self, path: str) -> str:
        return f"refs/weft/tip/{self.plan}/{dotted(path)}"

    def passed(self, path: str) -> str:
        return f"refs/weft/passed/{self.plan}/{dotted(path)}"

    def merging(self, path: str) -> str:
        return f"refs/weft/merging/{self.plan}/{dotted(path)}"

    def kept(self, path: str, commit: str) -> str:
        return f"refs/weft/kept/{self.plan}/{dotted(path)}/{commit[:16]}"
