"""A plan that was made from the files of a project, and run."""

import re

from e2e.repositories import Repository
from weft.app.decomposing import propose
from weft.decompose.model import Limits

AGENT = """use: command
    command: [sh, -c, 'for file in $(sed -n "s/^- //p"); do echo "# done" >> "$file"; done']
merge: {mode: auto}"""


def test_every_file_is_worked_on_once_after_what_it_uses_and_lands(repository: Repository) -> None:
    modules = {f"{part}/{name}.py": f"import {part}.a" for part in ("store", "cli") for name in "abc"}
    modules["cli/a.py"] = "import store.a"
    for path, text in modules.items():
        (repository.root / path).parent.mkdir(exist_ok=True)
        (repository.root / path).write_text(text)
    repository.commit()
    found = propose(
        repository.root,
        "Say that it is done.",
        globs=("**/*.py",),
        limits=Limits(max_files_per_subplan=3),
        environ=repository.environ,
    )
    (repository.root / "weft.yaml").write_text(re.sub(r"use: [\w-]+", AGENT, found.text))
    outcome = repository.run()
    assert (outcome.state, outcome.order()) == ("completed", ["store:work", "cli:work"])
    assert [said.split(":")[0] for said in repository.landed()[1:]] == ["Merge store", "Merge cli"]
    assert repository.files() == {
        "README": "hello",
        **{path: f"{text}# done" for path, text in modules.items()},
    }
    assert repository.is_whole()
