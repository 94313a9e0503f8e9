"""What goes up to the last mention is enough to find them all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.decompose.references.heads import head
from weft.decompose.references.mentions import Language, language_of, mentions


def language(path: str) -> Language:
    known_language = language_of(path)
    assert known_language is not None
    return known_language


def parsed(path: str, text: bytes) -> bytes:
    return head(text, language(path).signs)


CODE = {
    "a.py": (
        *(b"import a\n", b"from b import c, \\\n    d\n", b"from e import (\n    f,  # see (g\n    h,\n)\n"),
        *(
            b"def i():\n    import j\n    return 'import'\n",
            b"x = {1: 2}\n",
            b"# import k\n",
            b"important = 1\n",
        ),
        *(b'"""Do:\n\nimport l\n"""\n', b"y = '''\nimport m\n'''\n", b"z = [\n    (1, 2),\n]\n"),
    ),
    "a.ts": (
        *(
            b"import {a} from './a';\n",
            b"import {\n  b,\n  c,\n} from './b';\n",
            b"const d = require('./d');\n",
        ),
        *(
            b"/**\n * import {e} from './e';\n */\nlet f = 1;\n",
            b"// import './g'\n",
            b"export * from './h'\n",
        ),
        *(
            b"function i() {\n  return import('./i');\n}\n",
            b"let j = 'a/*';\n",
            b"let imported = {from: 1};\n",
        ),
    ),
    "a.go": (
        *(b'import "a"\n', b'import (\n  b "b"\n  "c"\n)\n', b"// import this\n", b"/*\nimport all\n*/\n"),
        *(b"func f() { g() }\n", b"var imported = 1\n"),
    ),
    "a.rs": (
        *(
            b"use a::b;\n",
            b"use c::{\n    d,\n    e,\n};\n",
            b"mod f;\n",
            b"// use g;\n",
            b"/*\nmod h;\n*/\n",
        ),
        *(b"fn i() {\n    use crate::j::K;\n}\n", b"mod l {\n    use m::n;\n}\n", b"extern crate o;\n"),
    ),
    "A.java": (
        *(
            b"package a.b;\n",
            b"import c.D;\n",
            b"import static e.F.g;\n",
            b"/** An import of H. */\nclass I {}\n",
        ),
        *(b"// import j.K;\n", b"class L { void m() { n(); } }\n"),
    ),
    "a.cpp": (
        *(b'#include "a.h"\n', b"#  include <b>\n", b"int include = 1;\n", b'/*\n#include "c.h"\n*/\n'),
        *(b'// #include "d.h"\n', b"void f() { g(); }\n"),
    ),
}
LAST = {
    "a.py": b"import last\n",
    "a.ts": b"import './last';\n",
    "a.go": b'import "last"\n',
    "a.rs": b"use last;\n",
    "A.java": b"import last.last;\n",
    "a.cpp": b'#include "last"\n',
}


@given(path=st.sampled_from(list(CODE)), data=st.data())
def test_no_mention_is_missed_for_what_comes_after_it_is_not_parsed(path: str, data: st.DataObject) -> None:
    """With a mention at the very end, all of the text is parsed."""
    text = b"".join(data.draw(st.lists(st.sampled_from(CODE[path]), max_size=6)))
    assert parsed(path, text + LAST[path]) == text + LAST[path]
    (last,) = mentions(language(path), LAST[path])
    expected = {target: set(names) for target, names in mentions(language(path), text + LAST[path]).items()}
    del expected[last]
    assert {target: set(names) for target, names in mentions(language(path), text).items()} == expected


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", b"import a\n"),
        ("a.py", b"from a import (\n    b,\n    c,\n)\n"),
        ("a.py", b"from a import b, \\\n    c\n"),
        ("a.py", b"from a import b, \\\r\n    c\r\n"),
        ("a.py", b'"""Do:\n\nimport a\n"""\n'),
        ("a.ts", b"const a = require('./a');\n"),
        ("a.ts", b"/**\n * import a from './a';\n */\n"),
        ("a.ts", b"export {a} from\n  './a';\n"),
        ("a.go", b'import (\n  "a"\n)\n'),
        ("a.rs", b"use a::\n    b::c;\n"),
        ("A.java", b"import a.\n    b.C;\n"),
        ("a.rs", b"use a::{\n    b,\n    c::{\n        d,\n    },\n};\n"),
    ],
)
def test_nothing_after_the_end_of_the_last_mention_is_parsed(path: str, text: bytes) -> None:
    assert parsed(path, text + b"x = y;\n" * 9) == text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", b"important = imports\nreimport = 1\n# import a\n"),
        ("a.ts", b"let imported = required, from = 1; // from here\n"),
        ("a.go", b"var imported = 1\n"),
        ("a.rs", b"let used = model;\n  // use it\n"),
        ("A.java", b"int imported = packages;\n// import a.B;\n"),
        ("a.cpp", b"int included = include + 1;\n"),
    ],
)
def test_where_no_statement_can_be_nothing_is_parsed(path: str, text: bytes) -> None:
    assert parsed(path, text) == b""


@pytest.mark.parametrize(
    ("path", "before", "opened"),
    [
        ("a.py", b"import a\n", b'    """Do:\n\nimport b\nx = 1\n'),
        ("a.py", b"import a\n", b"'''Do:\n\nimport b\nx = 1\n"),
        ("a.ts", b"import './a';\n", b"  /**\n * import './b'\n * x = 1;\n"),
    ],
)
def test_in_a_comment_that_continues_beyond_what_is_known_of_a_file_there_is_no_mention(
    path: str, before: bytes, opened: bytes
) -> None:
    assert parsed(path, before + opened).strip() == before.strip()


def test_signs_in_the_middle_of_a_line_are_not_taken_for_a_comment_without_end() -> None:
    text = b"const all = ['a/*', 'b'];\nimport './a';\n"
    assert parsed("a.ts", text + b"x = 1;\n") == text


def test_a_list_without_end_is_followed_so_far_and_no_further() -> None:
    text = b"from a import (\n" + b"    b,\n" * 5_000
    assert parsed("a.py", text) == text[: len("from a ") + 4096]
