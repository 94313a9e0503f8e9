"""Files that are no work of their own join a slice, or stay out."""

from weft.decompose.attachments import ENOUGH_TO_READ, is_note, without_strays
from weft.decompose.model import Limits, Part, Signals
from weft.decompose.parts import decompose
from weft.decompose.references.signals import Source, signals_of

FOUR = Limits(max_files_per_subplan=4)
CODE = tuple(f"{folder}/m{number}.py" for folder in ("cli", "store") for number in range(4))


def signals(*more: str, commits: tuple[tuple[str, ...], ...] = (), assets: tuple[str, ...] = ()) -> Signals:
    sources = [Source(path=path, size=40) for path in (*CODE, *more)]
    made = [Source(path=path, size=0, is_asset=True) for path in assets]
    return signals_of([*sources, *made], {}, commits)


def leaf_of(whole: Part, path: str) -> str:
    (leaf,) = (leaf.id for leaf in whole.leaves() if path in leaf.files)
    return leaf


def test_notes_and_pictures_make_no_slice_and_no_name() -> None:
    notes = ("AUTHORS", "CHANGELOG.md", "LICENSE", "README.md", "setup.py", "setup.cfg", "conftest.py")
    pictures = tuple(f"store/{number}.png" for number in range(30))
    whole = decompose(signals(*notes, *pictures), FOUR)
    assert [part.id for part in whole.parts] == ["conftest", "cli", "store"]
    assert {leaf_of(whole, note) for note in notes} == {"conftest"}
    assert {leaf_of(whole, picture) for picture in pictures} == {"store"}


def test_an_attachment_goes_where_most_commits_and_references_lead() -> None:
    commits = (
        ("store/m0.py", "img/logo.png"),
        ("store/m1.py", "img/logo.png"),
        ("cli/m0.py", "img/logo.png"),
    )
    kept_signals, strays = without_strays(signals("img/logo.png", commits=commits))
    assert (leaf_of(decompose(kept_signals, FOUR), "img/logo.png"), strays) == ("store", ())


def test_the_nearest_folder_with_work_decides_and_the_leaf_with_most_files_in_it() -> None:
    whole = decompose(signals("store/img/deep/logo.png", "LICENSE"), FOUR)
    assert leaf_of(whole, "store/img/deep/logo.png") == "store"
    assert leaf_of(whole, "LICENSE") == "cli"


def test_an_attachment_without_work_around_it_is_a_stray() -> None:
    kept_signals, strays = without_strays(
        signals("img/a.png", "changes/1.feature.md", "store/b.png", "NOTICE")
    )
    assert strays == ("changes/1.feature.md", "img/a.png")
    assert [kept_signals.paths[file] for file in kept_signals.attachments] == ["NOTICE", "store/b.png"]


def test_what_a_program_made_follows_its_references() -> None:
    sources = [Source(path=path, size=40, text=b"import made.model\n" * ("cli" in path)) for path in CODE]
    generated = Source(path="made/model.py", size=0, is_asset=True)
    kept_signals, strays = without_strays(signals_of([*sources, generated], {}))
    assert (leaf_of(decompose(kept_signals, FOUR), "made/model.py"), strays) == ("cli", ())


def test_little_prose_is_attached_and_much_is_work() -> None:
    pages = tuple(f"docs/{number}.md" for number in range(4))
    sizes = {True: ENOUGH_TO_READ, False: ENOUGH_TO_READ - 4}
    for is_work, tokens in sizes.items():
        sources = [Source(path=path, size=40) for path in CODE]
        sources += [
            Source(path=path, size=tokens) for path in pages
        ]  # a token is four bytes, and there are four
        kept_signals, strays = without_strays(signals_of(sources, {}))
        assert (kept_signals.attachments == (), strays) == (is_work, ())
        assert ("docs" in {part.id for part in decompose(kept_signals, FOUR).parts}) is is_work


def test_where_all_files_are_pictures_they_are_the_work() -> None:
    paths = [f"{folder}/{number}.png" for folder in "ab" for number in range(4)]
    kept_signals, strays = without_strays(signals_of([Source(path=path, size=9) for path in paths], {}))
    assert [part.id for part in decompose(kept_signals, FOUR).parts] == ["a", "b"]
    assert strays == ()


def test_notes_count_no_tokens() -> None:
    kept_signals = signals_of([Source(path="CHANGELOG.md", size=4_000_000), Source(path="a.py", size=4)], {})
    assert kept_signals.tokens == (0, 1)


def test_what_is_a_note() -> None:
    notes = [
        "AUTHORS",
        "a/LICENSE-MIT",
        "changelog.rst",
        "CHANGES.txt",
        ".gitignore",
        "changes/+x.feature.md",
    ]
    others = ["changes/x.py", "history.py", "news.ts", "README.md", "authors.json", "docs/guide.md"]
    assert [path for path in (*notes, *others) if is_note(path)] == notes
