"""A night: a plan of many slices, made from a seed, and a run of it that is disturbed again and again.

All processes are real: `weft` in the background, its supervisor, agents that are shell scripts, and git. A seed
decides on the plan and on the disturbances. Each disturbance waits for a number of journal events, not for a
clock, so that a slow machine is disturbed as often as a fast one. The end of a night is judged from outside, see
`night_verdict`.
"""

import os
import random
import re
import signal
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from msgspec import Struct, field, json

from e2e.repositories import AS_ADA, REMOVES, Repository, Said
from hosts.places import proc
from weft.app.project.places import Places
from weft.store.sqlite import open_reader

MOST_CENTS = 5
"""What a call of the agent may cost."""
PATIENCE = 90.0
"""Seconds without any event until a night counts as stuck."""
LONGEST_GAP = 24
"""Events between two disturbances."""
AT_REST = frozenset({"completed", "failed"})
VERIFIED_GROUPS = 0.5
"""The part of the groups that have a verify of their own."""
TIGHT = 0.3
"""The part of the nights whose ceiling is reached."""

LIBRARY = """
mark() { echo "$1 $WEFT_SUBPLAN $WEFT_STEP $WEFT_JOB" >> OUTSIDE/marks; }
mark begin
. OUTSIDE/works/$(echo $WEFT_SUBPLAN | tr / .)
"""
AGENT = """
cat > OUTSIDE/prompts.$WEFT_JOB
. OUTSIDE/library
calls=$(grep -c "^begin $WEFT_SUBPLAN $WEFT_STEP " OUTSIDE/marks)
if [ $calls -le $limits ]; then
  mark limited
  echo '{"limited_for": 1, "cost_usd": 0}' > $WEFT_RESULT
  exit 1
fi
code
sleep $seconds
echo $cents $WEFT_SUBPLAN >> OUTSIDE/costs
echo "{\\"cost_usd\\": 0.0$cents}" > $WEFT_RESULT
[ $calls -gt $((limits + crashes)) ] || exit 1
mark end
"""
TEST = """
. OUTSIDE/library
sleep $seconds
echo tested > tested-$name
mark end
"""
VERIFY = """
for file in bad-*; do if [ -e $file ]; then echo "$file is bad"; exit 1; fi; done
for file in left-*; do if [ -e right-${file#left-} ]; then echo "$file has a counterpart"; exit 1; fi; done
[ -z "$WEFT_JOB" ] || git rev-parse HEAD^{tree} >> OUTSIDE/verified
"""
"""Outside of a run, as the verdict calls it, it leaves no mark."""
GROUP_VERIFY = """
for name in NAMES; do if [ ! -e tested-$name ]; then echo "tested-$name is missing"; exit 1; fi; done
[ -z "$WEFT_JOB" ] || git rev-parse HEAD^{tree} >> OUTSIDE/verified-GROUP
"""
SETTLED = "settled by a person\n"


class Slice(Struct, frozen=True, kw_only=True):
    group: str
    name: str
    kind: str
    """`plain`, `conflict` (several write other text to one file), `bad` (its tree is never green), `left` and
    `right` (each is green without the other)."""
    needs: tuple[str, ...]
    cents: int
    limits: int
    """How many of the first calls of the agent meet a usage limit."""
    crashes: int
    """How many calls fail after that."""
    seconds: float
    asks: bool

    @property
    def path(self) -> str:
        return f"{self.group}/{self.name}"

    @property
    def work(self) -> str:
        extra = {
            "conflict": f"echo {self.name} > shared",
            "bad": f"echo bad > bad-{self.name}",
            "left": "echo left > left-1",
            "right": "echo right > right-1",
        }.get(self.kind, ":")
        values = f"name={self.name} cents={self.cents} limits={self.limits} crashes={self.crashes}"
        return f"{values} seconds={self.seconds}\ncode() {{ echo coded > coded-{self.name}; {extra}; }}\n"

    @property
    def yaml(self) -> str:
        ask = ["{id: sure, action: ask, question: Sure?}"] if self.asks else []
        steps = ["{id: code, prompt: write it}", *ask, "{id: test, run: sh OUTSIDE/test}"]
        needs = ", ".join(f"/{path}" for path in self.needs)
        return f"      - {{id: {self.name}, depends_on: [{needs}], steps: [{', '.join(steps)}]}}\n"


def make_slices(choice: random.Random, count: int) -> list[Slice]:
    kinds = ["conflict"] * max(2, count // 10) + ["bad"] * max(1, count // 20) + ["left", "right"]
    kinds += ["plain"] * (count - len(kinds))
    choice.shuffle(kinds)
    slices: list[Slice] = []
    for number, kind in enumerate(kinds):
        earlier = [other.path for other in slices if other.kind == "plain"]
        slices.append(
            Slice(
                group=f"g{number // 5}",
                name=f"s{number}",
                kind=kind,
                needs=tuple(choice.sample(earlier, min(len(earlier), choice.choice([0, 0, 1, 1, 2])))),
                cents=choice.randint(1, MOST_CENTS),
                limits=choice.choice([0, 0, 0, 0, 1]),
                crashes=choice.choice([0, 0, 0, 0, 1]),
                seconds=choice.choice([0, 0, 0.05, 0.2]),
                asks=choice.random() < 0.08,
            )
        )
    return slices


def plan_text(slices: list[Slice], choice: random.Random, cents: int) -> str:
    groups = groups_of(slices)
    most = MOST_CENTS / 100
    verified = {name for name in groups if choice.random() < VERIFIED_GROUPS}
    when, order = choice.choice(["slice", "slice", "milestone"]), choice.choice(["sequential", "completion"])
    head = (
        f"verify: sh OUTSIDE/verify\nbudget: {cents / 100}\nmax_parallel: 6\nfailure_mode: continue_on_error\n"
        f"retries: 3\ninfra_retries: 10\n"
        f"merge: {{mode: auto, when: {when}, order: {order}, batch: {choice.choice([1, 3, 32])}}}\n"
        f"agent: coder\nagents: {{coder: {{use: command, command: sh OUTSIDE/agent, max_cost: {most}}}}}\n"
        "subplans:\n"
    )
    return head + "".join(
        f"  - id: {name}\n{verify_line(name) if name in verified else ''}"
        f"    subplans:\n{''.join(member.yaml for member in members)}"
        for name, members in groups.items()
    )


def groups_of(slices: list[Slice]) -> dict[str, list[Slice]]:
    groups: dict[str, list[Slice]] = {}
    for item in slices:
        groups.setdefault(item.group, []).append(item)
    return groups


def verify_line(group: str) -> str:
    return f"    verify: sh OUTSIDE/verify-{group}\n"


class Disturbance(Struct, frozen=True):
    what: str
    gap: int
    """How many events of the journal it waits for."""


class Night(Struct):
    seed: int
    count: int
    repository: Repository
    slices: list[Slice]
    cents: int
    """The budget."""
    disturbances: list[Disturbance]
    choice: random.Random
    enough: int
    """A budget for all that a night may cost. If the first one is less, a person raises it in the end."""
    said: list[tuple[tuple[str, ...], Said]] = field(default_factory=list[tuple[tuple[str, ...], Said]])
    done: list[str] = field(default_factory=list[str])
    """What disturbed it."""
    stuck: str = ""
    people: list[str] = field(default_factory=list[str])
    """The files that people have committed."""
    overspent: list[str] = field(default_factory=list[str])
    """What was spent beyond a ceiling before it was raised."""

    @property
    def lands_slices(self) -> bool:
        return "when: slice" in (self.repository.root / "weft.yaml").read_text()

    # --- what the journal knows ---

    def events(self) -> int:
        with suppress(sqlite3.Error), closing(self._reader()) as journal:
            return int(journal.execute("SELECT count(*) FROM events").fetchone()[0])
        return 0

    def _reader(self) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{Places(self.repository.root).journal}?mode=ro", uri=True)

    def state(self) -> str:
        with closing(open_reader(Places(self.repository.root).journal)) as journal:
            return journal.runs()[0].state

    def coordinator(self) -> int | None:
        """Its process, if it is alive."""
        with closing(open_reader(Places(self.repository.root).journal)) as journal:
            holder = journal.holder()
        if holder is None:
            return None
        fields = proc(holder.pid, "stat").rpartition(b") ")[2].split()
        is_alive = fields and fields[0] != b"Z" and int(fields[19]) == holder.started
        return holder.pid if is_alive else None

    # --- what people do ---

    def weft(self, *arguments: str) -> Said:
        self.said.append((arguments, self.repository.weft(*arguments)))
        return self.said[-1][1]

    def ask(self, *arguments: str) -> dict[str, Any]:
        """What a command says to programs."""
        answer = json.decode(self.repository.weft(*arguments, "--json").stdout, type=dict[str, Any])
        data: dict[str, Any] = answer["data"]
        return data

    def start(self) -> None:
        answer = self.weft("start", "--budget", str(self.cents / 100))
        assert answer.returncode == 0, answer.stderr + answer.stdout

    def commit(self) -> None:
        """A person's commit in the checkout, where results land meanwhile."""
        number = len(self.people) + 1
        name = self.choice.choice([f"people-{number}"] * 4 + ["shared"])
        (self.repository.root / name).write_text(f"person {number}\n")
        self.repeat_git("add", name)
        self.repeat_git(*AS_ADA, "commit", "--quiet", "--message", f"a person: {name}", "--", name)
        self.people.append(name)

    def repeat_git(self, *command: str) -> None:
        """As a person does who reads that another git has the lock."""
        while "index.lock" in (answer := self.repository.ask_git(*command)).stderr:
            sleep(0.02)
        assert answer.returncode == 0, answer.stderr + answer.stdout

    def settle(self) -> None:
        """A person resolves each conflict as its message says, and has it tried again."""
        for held in self.ask("merge", "--list")["held"]:
            if held["conflict"] and self._settle(held["message"]):
                self.weft("merge", held["subplan"])

    def _settle(self, message: str) -> bool:
        """Whether there was a conflict; another try may have settled it meanwhile."""
        if (result := re.search(r"git -C (\S+) merge (\S+)", message)) is not None:
            place, other = Path(result[1]), result[2]
            return place.is_dir() and self._resolve(place, other)
        result = re.search(r"git switch (\S+), then: git merge (\w+)", message)
        assert result is not None, message
        with tempfile.TemporaryDirectory(dir=self.repository.outside) as folder:
            place = Path(folder) / "place"
            added = self.repository.ask_git("worktree", "add", str(place), result[1])
            is_settled = added.returncode == 0 and self._resolve(place, result[2])
            self.repository.ask_git("worktree", "remove", "--force", str(place))
        return is_settled

    def _resolve(self, place: Path, other: str) -> bool:
        repository = self.repository
        merged = repository.ask_git(*AS_ADA, "merge", "--no-edit", other, at=place)
        files = repository.ask_git("diff", "--name-only", "--diff-filter=U", at=place).stdout.split()
        for file in files:
            (place / file).write_text(SETTLED)
        if files:
            repository.git("add", "--", *files, at=place)
            repository.git(*AS_ADA, "commit", "--quiet", "--no-edit", at=place)
        return merged.returncode == 0 or bool(files)

    def answer(self) -> None:
        for question in self.ask("answer")["questions"]:
            if not question["answer"]:
                self.weft("answer", f"{question['subplan']}:{question['step']}", "yes")

    # --- disturbances ---

    def kill_coordinator(self) -> None:
        if (pid := self.coordinator()) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            self._wait_for(lambda: self.coordinator() is None)

    def kill_supervisor(self) -> None:
        for pid in self.repository.supervisors():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def disturb(self, what: str) -> None:
        part = self.choice.choice(self.slices)
        actions: dict[str, Callable[[], object]] = {
            "coordinator": self.kill_coordinator,
            "supervisor": self.kill_supervisor,
            "both": self.kill_supervisor,
            "pause": lambda: self.weft("pause", part.path),
            "freeze": lambda: self.weft("pause", "--freeze", part.group),
            "pause all": lambda: self.weft("pause"),
            "resume": lambda: self.weft("resume"),
            "limits": lambda: self.weft("resume", "--limits"),
            "stop": lambda: self.weft("stop"),
            "commit": self.commit,
            "merge": lambda: self.weft("merge"),
            "answer": self.answer,
            "settle": self.settle,
            "now": lambda: self.weft("merge", part.group, "--now"),
        }
        actions[what]()
        if what in {"both", "pause", "pause all"}:
            self.kill_coordinator()
        self.done.append(what)
        if what in {"pause all", "freeze"}:
            self.weft("resume")
        if self.coordinator() is None:
            self.start()

    # --- the night ---

    def run(self) -> None:
        self.start()
        for disturbance in self.disturbances:
            goal = self.events() + disturbance.gap
            self._wait_for(lambda goal=goal: self.events() >= goal or self._is_quiet())  # type: ignore[misc]
            if self.stuck:
                return
            self.disturb(disturbance.what)
        self._end()

    def _is_quiet(self) -> bool:
        """Nothing happens any more without a person."""
        return self.coordinator() is None or self.state() in {"waiting", "paused"}

    def _end(self) -> None:
        """A person does all that can be done, until nothing follows from it."""
        before = ""
        while not self.stuck:
            self.weft("resume")
            self._wait_for(self._is_quiet)
            self.answer()
            self.settle()
            self.weft("merge")
            self._wait_for(self._is_quiet)
            if self.coordinator() is None and self.state() not in AT_REST:
                self.start()
            self._wait_for(self._is_quiet)
            if self._picture() == before:
                if self.cents >= self.enough:
                    break
                self._raise_ceiling()
            before = self._picture()
        if self.coordinator() is not None:
            self.weft("stop")
        self._wait_for(lambda: not self.repository.supervisors())

    def spent(self) -> int:
        """In cents."""
        return sum(int(line.split()[0]) for line in self.repository.lines("costs"))

    def _raise_ceiling(self) -> None:
        """The ceiling is reached: a person looks at what was spent, and gives more."""
        if self.spent() > self.cents:
            self.overspent.append(f"{self.spent()} cents were spent of {self.cents}")
        self.cents = self.enough
        self.start()

    def subplans(self) -> dict[str, dict[str, Any]]:
        """Of each slice what `weft status` says."""
        listed = self.ask("status", "--all")["subplans"]
        paths = {item.path for item in self.slices}
        return {entry["path"]: entry for entry in listed if entry["path"] in paths}

    def _picture(self) -> str:
        states = {path: (entry["state"], entry["landing"]) for path, entry in self.subplans().items()}
        return f"{states} {self.repository.tip()}"

    def _wait_for(self, is_so: Callable[[], bool]) -> None:
        last, since = -1, monotonic()
        while not self.stuck and not is_so():
            events = self.events()
            if events != last:
                last, since = events, monotonic()
            elif monotonic() - since > PATIENCE:
                self.stuck = self.repository.weft("status").stdout
            sleep(0.02)


COMMON = (
    ["coordinator"] * 5
    + ["supervisor"] * 3
    + ["both"] * 2
    + ["commit"] * 6
    + ["resume", "merge", "answer", "settle"] * 2
)
RARE = ["pause", "freeze", "pause all", "limits", "stop", "now"]


def make_night(root: Path, seed: int, count: int) -> Night:
    choice = random.Random(seed)
    repository = Repository(root)
    if seed % 2:
        repository.head = REMOVES
    repository.commit(shared="nothing\n")
    slices = make_slices(choice, count)
    least = sum(item.cents * (1 + item.crashes) for item in slices)
    enough = least * choice.choice([2, 3]) + MOST_CENTS * count
    cents = least // 2 + MOST_CENTS if choice.random() < TIGHT else enough
    (repository.outside / "works").mkdir()
    for entry in slices:
        (repository.outside / "works" / entry.path.replace("/", ".")).write_text(entry.work)
    for name, text in {"library": LIBRARY, "agent": AGENT, "test": TEST, "verify": VERIFY}.items():
        (repository.outside / name).write_text(text.replace("OUTSIDE", str(repository.outside)))
    for name, members in groups_of(slices).items():
        script = GROUP_VERIFY.replace("NAMES", " ".join(member.name for member in members)).replace(
            "GROUP", name
        )
        (repository.outside / f"verify-{name}").write_text(script.replace("OUTSIDE", str(repository.outside)))
    repository.plan(plan_text(slices, choice, cents))
    disturbances = [*_disturbances(choice, count)]
    return Night(seed, count, repository, slices, cents, disturbances, choice, enough)


def _disturbances(choice: random.Random, count: int) -> Iterator[Disturbance]:
    for _ in range(count):
        yield Disturbance(choice.choice(COMMON + RARE), choice.randint(1, LONGEST_GAP))
