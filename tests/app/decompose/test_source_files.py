"""Which files a project has, and what is read of them."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from app.privileges import open_to_all, without_privileges
from weft.app.decompose.source_files import SourceFiles, UnreadFile, files_below, walk_files
from weft.decompose.references.signals import Source
from weft.errors import InputError


def below(folder: Path, *globs: str, exclude: tuple[str, ...] = ()) -> SourceFiles:
    return files_below(folder, globs, os.environ, exclude=exclude)


def write(folder: Path, **files: bytes) -> None:
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def git(folder: Path, *command: str, stdin: bytes = b"") -> bytes:
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    done = subprocess.run(["git", *who, *command], cwd=folder, check=True, capture_output=True, input=stdin)
    return done.stdout.strip()


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "-qm", "more")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


# Which


def test_outside_of_git_all_files_count_but_what_tools_keep(tmp_path: Path) -> None:
    write(tmp_path, a=b"1", b__c=b"22", node_modules__x=b"", target__y=b"")
    files = below(tmp_path)
    assert (files.root, files.paths, files.commits) == (tmp_path, ("a", "b/c"), ())


def test_in_a_repository_what_git_tracks_counts_and_paths_begin_at_its_top(repository: Path) -> None:
    write(repository, top=b"", sub__a=b"", sub__b=b"", sub2__c=b"")
    git(repository, "add", "--all")
    write(repository, sub__new=b"")
    files = below(repository / "sub")
    assert (files.root, files.paths, files.beside) == (repository, ("sub/a", "sub/b"), ("sub2/c", "top"))


@pytest.mark.parametrize("name", ["sub", "sub/../sub", "link", "elsewhere"])
def test_a_directory_may_be_named_in_any_way(repository: Path, name: str) -> None:
    write(repository, top=b"", sub__a=b"")
    (repository / "link").symlink_to("sub")
    git(repository, "add", "top", "sub")
    (repository / "elsewhere").symlink_to(repository / "sub")
    assert (below(repository / name).root, below(repository / name).paths) == (repository, ("sub/a",))


def test_in_a_worktree_its_own_files_count(repository: Path) -> None:
    write(repository, a=b"")
    commit(repository)
    git(repository, "worktree", "add", "-q", "other")
    assert (below(repository / "other").root, below(repository / "other").paths) == (
        repository / "other",
        ("a",),
    )


def test_variables_that_lead_to_another_repository_have_no_effect(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repository, a=b"")
    git(repository, "add", "a")
    monkeypatch.setenv("GIT_DIR", str(repository.parent / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(repository.parent / "nowhere"))
    assert below(repository).paths == ("a",)


def test_a_file_in_conflict_is_one_file(repository: Path) -> None:
    write(repository, a=b"")
    blob = git(repository, "hash-object", "-w", "a").decode()
    stages = "".join(f"100644 {blob} {stage}\ta\n" for stage in (1, 2, 3))
    git(repository, "update-index", "--index-info", stdin=stages.encode())
    assert below(repository).paths == ("a",)


def test_globs_choose(tmp_path: Path) -> None:
    write(tmp_path, a__x=b"", a__y=b"", b__x=b"")
    assert below(tmp_path, "a/**", "**/x").paths == ("a/x", "a/y", "b/x")
    assert (below(tmp_path, "**/y").paths, below(tmp_path, "**/y").beside) == (("a/y",), ("a/x", "b/x"))
    assert below(tmp_path, exclude=("a/**",)).paths == ("b/x",)
    assert below(tmp_path, "**/x", exclude=("b", "c")).paths == ("a/x",)


NAMES = [
    *("a b", "c\nd", "\nfirst", "t\tt", 'q"q', "q'q", "-rf", "--", "#h", "x: y", "b\\b", "*", "[a]", "?"),
    *(
        "\x1b[31m",
        "~",
        "null",
        " lead",
        "trail ",
        "n" * 255,
        "Case",
        "case",
        "\N{LATIN SMALL LETTER E WITH ACUTE}",
    ),
    os.fsdecode(b"\xff\xfe"),
]


def test_any_name_is_a_name(repository: Path) -> None:
    for name in NAMES:
        (repository / name).touch()
    assert sorted(walk_files(repository / ".")) == sorted(walk_files(repository))
    git(repository, "add", "--all")
    files = below(repository)
    assert files.paths == tuple(sorted(NAMES))
    assert [source.path for source in files.sources()] == sorted(NAMES)
    assert (files.unread, files.left_out) == ([], [])


def test_symbolic_links_are_files_and_loops_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "dangling.py").symlink_to("nowhere")
    (tmp_path / "away.py").symlink_to("/etc/passwd")
    files = below(tmp_path)
    assert files.paths == ("away.py", "dangling.py", "loop", "self")
    assert [(source.size, source.text) for source in files.sources()] == [(0, b"")] * 4


def test_a_folder_that_goes_away_while_we_look_is_nothing(tmp_path: Path) -> None:
    write(tmp_path, a=b"", b__c=b"")
    result = walk_files(tmp_path)
    assert next(result) == "a"
    shutil.rmtree(tmp_path / "b")
    assert list(result) == []


# What is in them


def test_text_is_read_of_known_languages_only(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"import b")
    (tmp_path / "b.txt").write_bytes(b"import c")
    assert list(below(tmp_path).sources()) == [
        Source(path="a.py", size=8, text=b"import b"),
        Source(path="b.txt", size=8),
    ]


def test_what_is_not_text_counts_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"import b\0")
    (tmp_path / "b.png").write_bytes(b"\0" * 100_000)
    (tmp_path / "c.txt").write_bytes(b"some text\n" * 10_000)
    (tmp_path / "d.js").write_bytes(b"require('x');" * 10_000)
    assert [source.size for source in below(tmp_path).sources()] == [0, 0, 100_000, 0]


def test_what_no_agent_writes_by_hand_counts_nothing_but_may_refer_to_others(repository: Path) -> None:
    (repository / ".gitattributes").write_bytes(b"made.py linguist-generated=true\n")
    (repository / "jquery.min.js").write_bytes(b"require('x')")
    (repository / "made.py").write_bytes(b"import b")
    (repository / "package-lock.json").write_bytes(b"{}" * 50_000)
    (repository / "signed.py").write_bytes(b"# @generated\nimport b")
    git(repository, "add", "--all")
    assert list(below(repository).sources())[1:] == [
        Source(path="jquery.min.js", size=0, is_asset=True),
        Source(path="made.py", size=0, text=b"import b", is_asset=True),
        Source(path="package-lock.json", size=0, is_asset=True),
        Source(path="signed.py", size=0, text=b"# @generated\nimport b", is_asset=True),
    ]


def test_what_is_gone_or_no_file_is_left_out_and_told(repository: Path) -> None:
    write(repository, a__x=b"", gone=b"", turned=b"", below__y=b"", pipe=b"")
    git(repository, "init", "-q", "inner")
    write(repository, inner__z=b"")
    commit(repository / "inner")
    git(repository, "add", "--all")
    (repository / "gone").unlink()
    (repository / "turned").unlink()
    (repository / "turned").mkdir()
    shutil.rmtree(repository / "below")
    (repository / "below").touch()
    (repository / "pipe").unlink()
    os.mkfifo(repository / "pipe")
    files = below(repository)
    assert [source.path for source in files.sources()] == ["a/x"]
    assert files.left_out == ["below/y", "gone", "inner", "pipe", "turned"]


def test_pipes_and_sockets_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "a.py")
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("b.py")
        files = below(tmp_path)
        assert (list(files.sources()), files.left_out) == ([], ["a.py", "b.py"])


def test_what_cannot_be_read_is_a_file_all_the_same_and_told(tmp_path: Path) -> None:
    source_files = SourceFiles(root=tmp_path, paths=("x" * 300 + ".py",))
    assert list(source_files.sources()) == [Source(path=source_files.paths[0], size=0)]
    assert source_files.unread == [UnreadFile(source_files.paths[0], "file name too long")]


def test_a_file_that_we_may_not_read_is_reported_and_such_a_directory_is_an_error() -> None:
    with open_to_all() as folder:
        (folder / "b.py").touch(0)
        (folder / "secret").mkdir(0)
        source_files = SourceFiles(root=folder, paths=("b.py", "secret/a.py"))
        with without_privileges():
            assert [source.size for source in source_files.sources()] == [0, 0]
            with pytest.raises(InputError, match=r"cannot read .*/secret: permission denied"):
                below(folder)
        assert source_files.unread == [UnreadFile(path, "permission denied") for path in source_files.paths]


def test_manifests_are_read(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_bytes(b"module m")
    (tmp_path / "package.json").symlink_to("go.mod")  # not followed
    (tmp_path / "a.go").touch()
    assert below(tmp_path).manifests() == {"go.mod": b"module m"}
    assert below(tmp_path, "*.go").manifests() == {"go.mod": b"module m"}  # it names what is meant, too


def test_it_is_said_how_far_the_reading_is(tmp_path: Path) -> None:
    text = list[str]()
    source_files = SourceFiles(root=tmp_path, paths=("gone",) * 2001)
    assert list(source_files.sources(text.append)) == []
    assert text == [
        *(f"reading files: {number} of 2,001" for number in ("0", "1,000", "2,000")),
        "looking up what files refer to",
    ]


# What is wrong


@pytest.mark.parametrize(
    ("name", "globs", "said"),
    [
        ("missing", (), "cannot read .*missing: no such file"),
        ("file", (), "file is not a directory; write a pattern in quotes, after --files"),
        ("empty", (), "there is no file in .*empty"),
        (".", ("nothing/**", "b"), "no file in .* matches nothing/[*][*] or b$"),
        (".", ("../x",), "leads upwards"),
    ],
)
def test_nothing_to_decompose_is_an_error(
    tmp_path: Path, name: str, globs: tuple[str, ...], said: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=said):
        below(tmp_path / name, *globs)


def test_all_excluded_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, a=b"")
    with pytest.raises(InputError, match=r"no file in .* matches [*][*] without a and b$"):
        below(tmp_path, exclude=("a", "b"))
    with pytest.raises(InputError, match="the pattern is empty"):
        below(tmp_path, exclude=("",))


def test_a_pattern_that_begins_further_down_is_reported_as_it_was_meant(repository: Path) -> None:
    write(repository, src__a=b"")
    git(repository, "add", "--all")
    with pytest.raises(InputError, match="start at the top of the repository: type --files 'src/a'"):
        below(repository / "src", "a")


def test_a_repository_that_tracks_nothing_says_what_to_type(repository: Path) -> None:
    write(repository, a=b"")
    with pytest.raises(InputError, match=r"git tracks no file in .*; to track files, type `git add`"):
        below(repository)


def test_a_bare_repository_is_an_error(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare")
    for place in (tmp_path, tmp_path / "refs"):
        with pytest.raises(InputError, match="in a git repository without checked-out files"):
            below(place)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        (".git/HEAD", "", "not a git repository"),
        (".git/index", "no index", "index file smaller than expected"),
        (".git/config", "[", "bad config line"),
    ],
)
def test_a_damaged_repository_is_an_error_in_the_words_of_git(
    repository: Path, file: str, text: str, said: str
) -> None:
    write(repository, a=b"")
    (repository / file).write_text(text)
    with pytest.raises(InputError, match=f"git cannot list the files in .*: .*{said}"):
        below(repository)


def test_a_history_that_cannot_be_read_is_reported(repository: Path) -> None:
    write(repository, a=b"")
    commit(repository)
    for stored in (repository / ".git/objects").glob("??/*"):
        stored.unlink()
    files = below(repository)
    assert (files.paths, files.commits, files.history_fault) == (("a",), (), "bad object HEAD")


def test_a_repository_without_the_program_git_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a=b"")
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / ".git" / "refs").mkdir(parents=True)
    with pytest.raises(InputError, match="there is no program git here"):
        below(tmp_path)


def test_whatever_ends_in_lock_is_a_lock_file(tmp_path: Path) -> None:
    (tmp_path / "tools.lock").write_bytes(b"click==8.1\n" * 1000)
    assert list(below(tmp_path).sources()) == [Source(path="tools.lock", size=0, is_asset=True)]


def test_an_empty_file_is_no_work(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").touch()
    assert list(below(tmp_path).sources()) == [Source(path="__init__.py", size=0, is_asset=True)]
