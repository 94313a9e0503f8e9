"""A target branch in memory, beside `NoWorkspaces`: what has landed stays landed, as in a repository."""

from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha1
from pathlib import Path
from threading import Event

from runtime.theatre import NoWorkspaces
from weft.engine.messages.facts import RefMove
from weft.ports.target import Chain, ChainLink, LandingEntry, ScratchFiles
from weft.ports.workspaces import WorkspaceRequest


class MemoryTarget:
    """Which entries are verified, overtaken or fail is said of the workspaces, as `land a`."""

    name = "main"

    def __init__(self, workspaces: NoWorkspaces, root: Path) -> None:
        self._workspaces = workspaces
        self.scratch = root / "scratch" / "land"
        self.landed: list[str] = []
        """The commits of the target, the newest last."""
        self.trees: list[str] = []
        """The trees that the target has held since."""
        self.checked_out: list[str] = []
        self.discarded = 0
        self.push_errors: list[BaseException | None] = []
        """What becomes of each push; None, or beyond the end, is a success."""
        self.pushes: list[str] = []
        """The remotes of all pushes that were tried."""
        self.pushed = ""
        """The commit that was pushed last."""
        self.hung_up = Event()
        """Set when contacts with the remote are to end."""
        self.fetches = 0
        self._fetched_trees: set[str] = set()

    def branch(self, path: str) -> str:
        return f"weft/p/{path}"

    def build(
        self, entries: Sequence[LandingEntry], *, is_to_land: Callable[[str], bool], onto: str | None = None
    ) -> Chain:
        base = onto or self._tip
        links: list[ChainLink] = []
        landed: dict[str, tuple[RefMove, ...]] = {}
        tip = base
        for entry in entries:
            if entry.path in self.landed:
                landed[entry.path] = (RefMove(ref=f"land {entry.path}", before="", after="1"),)
                continue
            commit = f"{tip}+{entry.path}"
            links.append(ChainLink(path=entry.path, head=entry.path, before=tip, commit=commit))
            tip = commit
        return Chain(
            base=base,
            commit=tip,
            tree=tree_of(tip),
            links=tuple(links),
            landed=landed,
            built_on={link.path: () for link in links},
        )

    def rebuild(self, request: WorkspaceRequest, *, releases: bool) -> str:
        """Nothing here is built on the work of another entry."""
        return ""

    def check_out(self, commit: str, files: ScratchFiles) -> None:
        self.checked_out.append(commit)

    def advance(self, chain: Chain) -> bool:
        paths = [link.path for link in chain.links]
        return self._workspaces.lands(paths, lambda: self._advance(chain, paths))

    def _advance(self, chain: Chain, paths: Sequence[str]) -> bool:
        if any(self._workspaces.is_overtaken(f"land {path}") for path in paths):
            self.landed.append(f"person-{len(self.landed)}")
        if chain.base != self._tip:
            return False
        self.landed += paths or [chain.commit.removeprefix(f"{chain.base}+")]
        self.trees.append(chain.tree)
        return True

    @property
    def _tip(self) -> str:
        return "+".join(["base", *self.landed])

    def touched(self, chain: Chain, files: Sequence[str]) -> Sequence[str]:
        return [link.path for link in chain.links]

    def discard(self) -> None:
        self.discarded += 1

    def passed_trees(self, paths: Mapping[str, bool]) -> Mapping[str, Collection[str]]:
        """All of them, but for what is to be verified, and the trees with commits of the remote."""
        passed = _AllExcept(self._fetched_trees)
        return {path: passed for path in paths if not self._workspaces.is_verified(f"land {path}")}

    def push(self, remote: str) -> str:
        """Fails as the script says, once for each failure in it."""
        self.pushes.append(remote)
        error = self.push_errors.pop(0) if self.push_errors else None
        if error is not None:
            raise error
        self.pushed = self._tip
        return self._tip

    def hang_up(self) -> None:
        self.hung_up.set()

    def fetch(self, remote: str) -> str:
        self.fetches += 1
        return f"theirs-{self.fetches}"

    def merge_fetched(self, remote: str, commit: str) -> Chain | None:
        if commit in self.landed:
            return None
        tip = f"{self._tip}+{commit}"
        self._fetched_trees.add(tree_of(tip))
        return Chain(base=self._tip, commit=tip, tree=tree_of(tip))


def tree_of(commit: str) -> str:
    return sha1(commit.encode(), usedforsecurity=False).hexdigest()


class _AllExcept(Collection[str]):
    def __init__(self, exceptions: Collection[str]) -> None:
        self._exceptions = exceptions

    def __contains__(self, item: object) -> bool:
        return item not in self._exceptions

    def __iter__(self):
        return iter(())

    def __len__(self) -> int:
        return 0
