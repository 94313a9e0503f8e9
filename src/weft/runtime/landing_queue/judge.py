"""Decides which part of a chain may land.

If the tree at the end of the chain passes, all of it lands. If it fails, the tip of the target is verified first,
so that no result is blamed for what was broken before. Then a bisection finds the results that break the verify.
These are *culprits*, and the chain without them lands if it passes.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct

from weft.engine.suspects import BisectionResult, SearchEnd, Suspect, VerifyAnswer, VerifyQuestion, look
from weft.ports.target import Chain, LandingTarget
from weft.ports.workspaces import HeldError
from weft.runtime.landing_queue.verifier import TreeVerdict, Verifier

Build = Callable[[Sequence[str], str], Awaitable[Chain]]
"""Builds the chain of these entries on a commit."""


class ChainJudgement(Struct, frozen=True, kw_only=True):
    chain: Chain | None
    """The part that may land; None if there is none."""
    held: Mapping[str, HeldError] = {}
    """The entries that may not, with the reason."""


class ChainJudge:
    def __init__(self, target: LandingTarget, verifier: Verifier, *, allows_red_base: bool) -> None:
        self._target = target
        self._verifier = verifier
        self._allows_red_base = allows_red_base

    async def judge(self, chain: Chain, build: Build, on_target: AbstractSet[int]) -> ChainJudgement:
        verdict = await self._verifier.verify(chain, on_target)
        paths = [link.path for link in chain.links]
        if verdict.answer is VerifyAnswer.GREEN:
            return ChainJudgement(chain=chain)
        if verdict.answer is VerifyAnswer.UNCLEAR:
            return self._hold_all(paths, verdict)
        base = await self._verifier.verify(await build((), chain.base), on_target)
        if base.answer is not VerifyAnswer.GREEN:
            return self._on_red_base(chain, base, verdict)
        if len(_units(chain)) == 1:
            return self._hold_all(paths, verdict, paths)
        return await self._bisect(chain, build, on_target, verdict)

    def _on_red_base(self, chain: Chain, base: TreeVerdict, verdict: TreeVerdict) -> ChainJudgement:
        # Equal exit codes are all that can be compared: the output of a test run is rarely the same twice.
        if self._allows_red_base and base.exit_code == verdict.exit_code:
            return ChainJudgement(chain=chain)
        name = self._target.name
        text = (
            f"{_verify_name(base)} already fails on {name} at {chain.base[:7]}: {base.message}\n"
            f"{_indent(base.tail)}fix {name}, then type: weft merge"
        )
        held = {link.path: HeldError(text, red=True, tail=base.tail) for link in chain.links}
        return ChainJudgement(chain=None, held=held)

    async def _bisect(
        self, chain: Chain, build: Build, on_target: AbstractSet[int], verdict: TreeVerdict
    ) -> ChainJudgement:
        units = _units(chain)
        suspects = [Suspect(first, _built_on(chain, unit)) for first, unit in units.items()]
        answers: list[VerifyAnswer] = []
        parts: dict[tuple[str, ...], Chain] = {}
        while isinstance(step := look(suspects, answers), VerifyQuestion):
            paths = _members(units, step.names)
            part = await build(paths, chain.base)
            if len(part.links) < len(paths):
                answers.append(VerifyAnswer.UNCLEAR)  # these cannot be merged without the others
                continue
            parts[paths] = part
            # The bisection asks about the whole chain once more, to find out whether the verify is reliable.
            # That question is pointless if the stored answer is returned.
            again = len(step.names) == len(suspects)
            tried = await self._verifier.verify(part, on_target, again=again)
            verdict = tried if tried.answer is VerifyAnswer.RED else verdict
            answers.append(tried.answer)
        if step.why is SearchEnd.UNRELIABLE and answers[-1] is VerifyAnswer.GREEN:
            return ChainJudgement(chain=chain)  # this very tree has passed, at the second try
        return self._judgement(chain, step, parts, verdict)

    def _judgement(
        self,
        chain: Chain,
        finding: BisectionResult,
        parts: Mapping[tuple[str, ...], Chain],
        verdict: TreeVerdict,
    ) -> ChainJudgement:
        paths, units = [link.path for link in chain.links], _units(chain)
        left_out = _members(units, finding.left_out)
        rest = tuple(path for path in paths if path not in left_out)
        culprits = _members(units, finding.culprits)
        lands = bool(left_out) and rest in parts
        held: dict[str, HeldError] = {}
        for path in left_out if lands else paths:
            # A result that is only built on a culprit is not at fault, and its message names the one to fix.
            along = [culprit for culprit in culprits if culprit in chain.built_on[path]]
            if path in culprits or not along:
                held[path] = self._red_reason(path, verdict, culprits)
            else:
                held[path] = self._behind(path, along)
        return ChainJudgement(chain=parts[rest] if lands else None, held=held)

    def _hold_all(
        self, paths: Sequence[str], verdict: TreeVerdict, culprits: Sequence[str] = ()
    ) -> ChainJudgement:
        return ChainJudgement(
            chain=None, held={path: self._red_reason(path, verdict, culprits) for path in paths}
        )

    def _behind(self, path: str, culprits: Sequence[str]) -> HeldError:
        """Returns the reason that holds a result with the work of culprits in it."""
        branches = " and ".join(self._target.branch(each) for each in culprits)
        return HeldError(
            f"{path} does not land on {self._target.name}: it is built on the work of {' and '.join(culprits)}, "
            f"whose verify fails; commit a fix to branch {branches}, then type: weft merge "
            f"{' '.join((*culprits, path))}",
            waits_for=culprits,
        )

    def _red_reason(self, path: str, verdict: TreeVerdict, culprits: Sequence[str]) -> HeldError:
        """Returns the reason that holds a result, with what a person can do."""
        others = [each for each in culprits if each != path]
        together = f" together with {' and '.join(others)}" if others and path in culprits else ""
        return HeldError(
            f"{path} does not land on {self._target.name}: {_verify_name(verdict)} fails with it{together}: "
            f"{verdict.message}\n{_indent(verdict.tail)}commit a fix to branch {self._target.branch(path)}, "
            f"then type: weft merge {path}",
            red=True,
            tail=verdict.tail,
        )


def _units(chain: Chain) -> dict[str, tuple[str, ...]]:
    """Returns the links that land together or not at all, by the first of them; mostly each by itself."""
    units = {link.path: chain.together.get(link.path, (link.path,)) for link in chain.links}
    return {path: unit for path, unit in units.items() if unit[0] == path}


def _built_on(chain: Chain, unit: Sequence[str]) -> tuple[str, ...]:
    """Returns the first link of each unit that this one is built on."""
    bases = (base for path in unit for base in chain.built_on[path] if base not in unit)
    return tuple(dict.fromkeys(chain.together.get(base, (base,))[0] for base in bases))


def _members(units: Mapping[str, tuple[str, ...]], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(path for name in names for path in units[name])


def _verify_name(verdict: TreeVerdict) -> str:
    return f"`verify` of {verdict.owner}" if verdict.owner else "`verify`"


def _indent(text: str) -> str:
    return "".join(f"  | {line}\n" for line in text.splitlines())
