"""`weft diff`: shown by git itself, for people and for programs."""

import json
import os
import pty
import subprocess
from collections.abc import Iterator, Sequence

import pytest
from click.testing import CliRunner, Result

from cli.running import WEFT
from e2e.repositories import Repository
from weft.cli.main import cli

PLAN = """
merge: {mode: auto}
subplans:
  - {id: store, subplans: [{id: model, steps: [{id: work, run: "echo m > model; echo more >> README"}]}]}
  - {id: asks, steps: [{id: sure, action: ask, question: Really?}, {id: work, run: "true"}]}
  - {id: late, depends_on: [asks], steps: [{id: work, run: "true"}]}
"""
PATCH = """\
diff --git a/README b/README
index ce01362..2227cdd 100644
--- a/README
+++ b/README
@@ -1 +1,2 @@
 hello
+more
diff --git a/model b/model
new file mode 100644
index 0000000..28ce6a8
--- /dev/null
+++ b/model
@@ -0,0 +1 @@
+m
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    repository = Repository(tmp_path_factory.mktemp("ran") / "project")
    assert repository.plan(PLAN).run(waits=False).state == "waiting"
    config = repository.root / ".git" / "config"
    config.write_text(config.read_text() + "[color]\n\tui = always\n[diff]\n\tnoprefix = true\n")
    yield repository
    repository.end()


def diff(repository: Repository, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["-C", str(repository.root), "diff", *arguments])


def test_for_programs_it_is_a_patch_whatever_the_user_likes_to_see(ran: Repository) -> None:
    done = CliRunner(env=EXTERNAL).invoke(cli, ["-C", str(ran.root), "diff", "store/model"])
    assert (done.exit_code, done.stdout, done.stderr) == (0, PATCH, "")


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["store", "--name-only"], "README\nmodel\n"),
        (["--name-only"], "README\nmodel\n"),
        (["/", "--name-only"], "README\nmodel\n"),
        (
            ["store/model", "--stat"],
            " README | 1 +\n model  | 1 +\n 2 files changed, 2 insertions(+)\n",
        ),
        (["asks"], ""),
    ],
)
def test_names_and_numbers_can_be_had_alone(ran: Repository, arguments: Sequence[str], shown: str) -> None:
    done = diff(ran, *arguments)
    assert (done.exit_code, done.stdout) == (0, shown)


def test_as_json_it_is_data(ran: Repository) -> None:
    done = diff(ran, "store/model", "--json")
    data = json.loads(done.stdout)["data"]
    assert data.pop("run")
    assert data == {
        "subplan": "store/model",
        "branch": "weft/tried/store.model",
        "start": ran.tip("main~1"),
        "head": ran.tip("weft/tried/store.model"),
        "files": [
            {"path": "README", "status": "changed", "added": 1, "removed": 0},
            {"path": "model", "status": "added", "added": 1, "removed": 0},
        ],
        "uncommitted": [],
    }
    assert json.loads(diff(ran, "--json").stdout)["data"]["subplan"] is None


def test_what_cannot_be_shown_is_reported_with_exit_code_2(ran: Repository) -> None:
    done = diff(ran, "stor")
    assert (done.exit_code, done.stderr) == (
        2,
        "error: the plan has no subplan 'stor'; did you mean 'store'?\n",
    )
    assert diff(ran, "late").exit_code == 2
    assert diff(ran, "--run", "never").exit_code == 2


def on_a_terminal(repository: Repository, **env: str) -> tuple[int, str]:
    watching, terminal = pty.openpty()
    pager = {"GIT_PAGER": "printf 'through the pager: '; cat", "TERM": "xterm"}
    with subprocess.Popen(
        [WEFT, "diff", "store/model"],
        cwd=repository.root,
        env={**os.environ, **repository.environ, **pager, **env},
        stdout=terminal,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(terminal)
        shown = b"".join(pieces(watching))
    return process.returncode, shown.decode()


def pieces(terminal: int) -> Iterator[bytes]:
    try:
        while piece := os.read(terminal, 1024):
            yield piece
    except OSError:  # how a terminal tells that nobody is at its other end any more
        os.close(terminal)


@pytest.mark.parametrize(
    ("env", "beginning"),
    [
        ({}, "through the pager: \x1b["),
        ({"NO_COLOR": "1"}, "through the pager: diff --git README README\r\n"),
        ({"TERM": "dumb"}, "through the pager: diff --git README README\r\n"),
    ],
)
def test_on_a_terminal_git_shows_it_as_the_user_likes_it(
    ran: Repository, env: dict[str, str], beginning: str
) -> None:
    exit_code, shown = on_a_terminal(ran, **env)
    assert (exit_code, shown[: len(beginning)]) == (0, beginning)


def test_leaving_the_pager_early_is_no_error(ran: Repository) -> None:
    assert on_a_terminal(ran, GIT_PAGER="true") == (0, "")


EXTERNAL = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "diff.external", "GIT_CONFIG_VALUE_0": "false"}


def test_if_git_cannot_show_it_that_is_a_failure(ran: Repository) -> None:
    assert on_a_terminal(ran, **EXTERNAL)[0] == 1


def test_names_are_completed(ran: Repository) -> None:
    words = {"_WEFT_COMPLETE": "zsh_complete", "COMP_WORDS": "weft diff st", "COMP_CWORD": "2"}
    done = subprocess.run(
        [WEFT], cwd=ran.root, env={**os.environ, **words}, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[1::3] == ["store", "store/model"]
