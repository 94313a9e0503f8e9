"""Prompts of slices say what is in the slice and what its neighbours do."""

from weft.app.decompose.part_prompts import Prompts
from weft.decompose.model import Part, Risk

END = "Change files of other slices only where they must change with these."


def leaf(name: str, *files: str, after: tuple[str, ...] = (), prompt: str = "") -> Part:
    return Part(id=name, title=f"about {name}", files=files, tokens=1, depends_on=after, prompt=prompt)


def group(name: str, *parts: Part, after: tuple[str, ...] = (), risks: tuple[Risk, ...] = ()) -> Part:
    files = tuple(sorted(path for part in parts for path in part.files))
    return Part(
        id=name,
        title=f"about {name}",
        files=files,
        tokens=len(files),
        parts=parts,
        depends_on=after,
        risks=risks,
    )


def test_a_slice_without_neighbours_says_what_is_in_it() -> None:
    assert (
        Prompts(leaf("", "a.py")).prompt("")
        == f"Do what the goal asks for in the file of this slice (about ).\n{END}"
    )


def test_neighbours_are_named_with_their_paths_and_titles() -> None:
    risk = Risk(first="cli", second="store", circle=True, links=1, files=(("c.py", "m.py"),))
    store = group("store", leaf("model", "m.py", "n.py"), leaf("sql", "s.py", after=("model",)))
    whole = group(
        "",
        leaf("cli", "c.py"),
        store,
        group("web", leaf("view", "v.py"), after=("/store/sql",)),
        risks=(risk,),
    )
    prompts = Prompts(whole)
    assert prompts.prompt("/store/model").splitlines() == [
        "Do what the goal asks for in the 2 files of this slice (about model).",
        "Waiting for it, as they use it: store/sql (about sql).",
        "At the same time, with files that are linked with these: cli (m.py with c.py).",
        END,
    ]
    assert prompts.prompt("/web/view").splitlines()[1] == "Done before it: store/sql (about sql)."
    assert prompts.prompt("/cli").splitlines()[1:] == [
        "At the same time, with files that are linked with these: store/model (c.py with m.py).",
        END,
    ]


def test_of_many_neighbours_some_are_named() -> None:
    users = [leaf(f"u{number}", f"u{number}.py", after=("base",)) for number in range(6)]
    lines = Prompts(group("", leaf("base", "b.py"), *users)).prompt("/base").splitlines()
    named = "; ".join(f"u{number} (about u{number})" for number in range(4))
    assert lines[1] == f"Waiting for it, as they use it: {named}; and 2 more."


def test_a_prompt_that_an_agent_wrote_is_kept() -> None:
    assert (
        Prompts(group("", leaf("a", "a.py", prompt="Mind the tax."), leaf("b", "b.py"))).prompt("/a")
        == "Mind the tax."
    )


def test_a_name_is_no_template() -> None:
    whole = Part(id="", title="{{ x }}", files=("a",), tokens=1)
    assert (
        Prompts(whole).prompt("").startswith("Do what the goal asks for in the file of this slice ({ { x }})")
    )
