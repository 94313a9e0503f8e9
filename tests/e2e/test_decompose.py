"""A plan that was made from the files of a project, and run."""

import re
from itertools import product

from e2e.repositories import Repository
from weft.app.decompose.decompose import propose
from weft.decompose.model import Limits, Part

AGENT = """use: command
    command: [sh, -c, 'for file in $(sed -n "s/^- //p"); do echo "# done" >> "$file"; done']
merge: {mode: auto}"""


SEES = """use: command
    command:
      - sh
      - -c
      - 'for file in $(sed -n "s/^- //p"); do tail -n 1 low/two/a.py >> "$file"; echo "# done" >> "$file"; done'
merge: {mode: auto}"""


def decompose(repository: Repository, agent: str) -> Part:
    """The parts, with their plan written."""
    proposal = propose(
        repository.root,
        "Say that it is done.",
        globs=("**/*.py",),
        limits=Limits(max_files_per_subplan=3),
        environ=repository.environ,
    )
    (repository.root / "weft.yaml").write_text(re.sub(r"use: [\w-]+", agent, proposal.text))
    return proposal.whole


def test_every_file_is_worked_on_once_after_what_it_uses_and_lands(repository: Repository) -> None:
    modules = {f"{part}/{name}.py": f"import {part}.a" for part in ("store", "cli") for name in "abc"}
    modules["cli/a.py"] = "import store.a"
    for path, text in modules.items():
        (repository.root / path).parent.mkdir(exist_ok=True)
        (repository.root / path).write_text(text)
    repository.commit()
    decompose(repository, AGENT)
    outcome = repository.run()
    assert (outcome.state, outcome.order()) == ("completed", ["store:work", "cli:work"])
    assert [item.split(":")[0] for item in repository.landed()[1:]] == ["Merge store", "Merge cli"]
    assert repository.files() == {
        "README": "hello",
        **{path: f"{text}# done" for path, text in modules.items()},
    }
    assert repository.is_whole()


def test_a_slice_starts_with_what_it_uses_of_another_group(repository: Repository) -> None:
    """Of nine in three groups, one uses one; it waits for that, and not for its group."""
    for group, part, name in product(("high", "low", "other"), ("one", "two", "three"), "abc"):
        uses = "import low.two.a" if (group, part) == ("high", "one") else f"import {group}.{part}.a"
        file = repository.root / group / part / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{uses}\n")
    repository.commit()
    whole = decompose(repository, SEES)
    (high, *_) = whole.parts
    assert {item.id: item.depends_on for item in high.parts} == {"one": ("/low/two",), "three": (), "two": ()}
    assert repository.run().state == "completed"
    assert repository.files()["high/one/a.py"] == "import low.two.a\n# done\n# done"
