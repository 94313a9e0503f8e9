"""What a file says about others: its imports and includes, as written there, and the names it takes from each.

Read with tree-sitter, whose parsers go on after an error: half a file, or one of an older version of its language,
still tells what it refers to. Each language has a query for the statements that matter and a way to read one.
What a statement is about is taken from its text, not from nodes further down: that is faster, and no depth of
nesting is too deep for it.

| language | what | names |
| --- | --- | --- |
| Python | `package.module`, with leading dots if relative | after `import` |
| JavaScript, TypeScript | what is between the quotes | as in the other file; what has none there, as here |
| Go, C, C++ | the path | |
| Rust | `crate::a`; `mod:a` or `path:a.rs` for a module in a file of its own | the last of each `use` |
| Java | the class; `a.b.*` for a package, the own one too | whatever may be a class |

The empty name stands for all of it. Java has no word for what is taken from a package: every name that begins as
those of classes do counts.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from operator import attrgetter
from sys import intern
from typing import Any

from msgspec import Struct

from weft.decompose.references.heads import Signs, Word, head, word

Tree = Any  # a node of tree-sitter, which is an extra
Mentions = Mapping[str, Collection[str]]
"""What is meant, and which names of it; a name may be there several times."""
_Reader = Callable[[Tree], Iterable[tuple[str, str]]]
_More = Callable[[bytes, dict[str, list[str]]], Mentions]

_BEGIN = attrgetter("start_byte")
_PARSED = 64 * 1024  # bytes of a file
_LONGEST = 1000  # is no name any more
_DEEPEST = 32  # names of one path, and lists in lists
PYTHON, SCRIPT, GO, RUST, JAVA, C = "python", "script", "go", "rust", "java", "c"


class Language(Struct, frozen=True, kw_only=True):
    family: str
    """Languages of one family refer to each other's files."""
    package: str
    """Where the grammar is."""
    signs: Signs
    query: str
    read: _Reader
    grammar: str = "language"
    more: _More = lambda _text, found: found
    """Adds what is said elsewhere than in statements."""


def _text(node: Tree) -> str:
    return str(node.text, "utf-8", "surrogateescape")


def _path(node: Tree) -> Iterator[tuple[str, str]]:
    yield _text(node).strip("\"'`<>"), ""


_SAID = r"[^;{]{0,400}"  # may go over several lines


def _signs(*words: Word) -> Signs:
    return Signs(words=words, comment=b"//", enclosing=((b"/*", b"*/"),))


# Python

_PYTHON_NOISE = re.compile(r"#[^\n]*|[\\()\s]+")
_IMPORT = re.compile(r"(?<!\w)import(?!\w)")


def _python(statement: Tree) -> list[tuple[str, str]]:
    text = _text(statement)
    if "\n" in text or "(" in text:
        text = _PYTHON_NOISE.sub(" ", text)
    module, _import, names = text.partition(" import ")  # is how nearly all are written
    if not names:
        module, names = (*_IMPORT.split(text, maxsplit=1), "")[:2]
    taken = [words[0] for item in names.split(",") if (words := item.split(None, 1))]
    module = module.removeprefix("from").strip()
    if not module:
        return [(name, "") for name in taken]
    return [(module, "" if name == "*" else name) for name in taken]


# JavaScript and TypeScript

_SCRIPT_QUERY = """
(import_statement source: (string)) @mention
(export_statement source: (string)) @mention
(variable_declarator value: (call_expression
  function: (identifier) @called arguments: (arguments . (string))) (#eq? @called "require")) @mention
(call_expression function: (import) arguments: (arguments . (string) @mention))
((call_expression function: (identifier) @called arguments: (arguments . (string) @mention))
 (#eq? @called "require"))
"""
_TYPED_SCRIPT_QUERY = _SCRIPT_QUERY + "(import_require_clause source: (string)) @mention"
_SCRIPT_WORDS = (
    word("import", r"""\s*["'`(/]"""),
    word("from", r"""\s*["'`/]"""),
    word("require", r"\s*[(/]"),
)
_SCRIPT_NOISE = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\b(?:type|typeof)\s(?=\s*[\w$*{])", re.DOTALL)
_SCRIPT_NAME = re.compile(r"[\w$]+", re.ASCII)


def _script(node: Tree) -> Iterable[tuple[str, str]]:
    if node.type == "string":
        return _path(node)
    if node.type == "variable_declarator":
        call = node.child_by_field_name("value")
        source = call.child_by_field_name("arguments").named_children[0]
        said = _text(node.child_by_field_name("name"))
    else:
        source = node.child_by_field_name("source")
        said = str(node.text[: source.start_byte - node.start_byte], "utf-8", "replace")
    what = _text(source).strip("\"'`")
    return [(what, name) for name in _script_names(said)]


def _script_names(said: str) -> list[str]:
    """`D, {a as b, default as c}`: D, a, c. What is left of the statement around it is no name."""
    before, brace, inside = _SCRIPT_NOISE.sub(" ", said).partition("{")
    words = [word for word in _SCRIPT_NAME.findall(before) if word not in {"import", "export", "from"}]
    names = words[:1] if "*" not in before else []
    for item in inside.partition("}")[0].split(",") if brace else ():
        found = _SCRIPT_NAME.findall(item)
        if found and "..." not in item:
            names.append(found[-1] if found[0] == "default" else found[0])
    return names or [""]


# Rust

_RUST_TOKEN = re.compile(r"[\w#]+|[{},*]")
_RUST_INLINE = re.compile(rb"\bcrate(?:::\w+){2,16}+(?!::)")
_RUST_PATH = re.compile(r'#\s*\[\s*path\s*=\s*"([^"]*)"')


def _rust(node: Tree) -> Iterable[tuple[str, str]]:
    if node.type == "use_declaration":
        said = _text(node.child_by_field_name("argument"))
        return (
            _rust_names(said) if "super" not in said else _rust_outside(_rust_names(said), _rust_depth(node))
        )
    name = _text(node.child_by_field_name("name"))
    if node.type == "extern_crate_declaration":
        return [(name, "")]
    before = node.prev_named_sibling
    place = (
        _RUST_PATH.match(_text(before)) if before is not None and before.type == "attribute_item" else None
    )
    return [(f"path:{place[1]}" if place else f"mod:{name}", "")]


def _rust_names(text: str) -> Iterator[tuple[str, str]]:
    """`a::{b, c::{self, D}, e as f}`: b of a, all of a::c, D of a::c, e of a."""
    lists, base, own = list[list[str]](), list[str](), list[str]()
    for found in _RUST_TOKEN.findall(text):
        if found == "{":
            lists.append(base)
            base, own = base + own, []
            if len(lists) + len(base) > _DEEPEST:
                return
        elif found in {",", "}"}:
            yield from _rust_path(base, own)
            own = []
            if found == "}" and lists:
                base = lists.pop()
        else:
            own.append(found.removeprefix("r#"))
    yield from _rust_path(base, own)


def _rust_path(base: list[str], own: list[str]) -> Iterator[tuple[str, str]]:
    names = own[: own.index("as")] if "as" in own else own
    if names:
        *before, last = base + names
        last = "" if last in {"*", "self"} else last
        yield ("::".join(before), last) if before else (last, "")


def _rust_depth(node: Tree) -> int:
    """In how many modules it is that have no file of their own."""
    depth = 0
    while (node := node.parent) is not None:
        depth += node.type == "mod_item"
    return depth


def _rust_outside(found: Iterable[tuple[str, str]], depth: int) -> Iterator[tuple[str, str]]:
    """As said outside of them; what is in the same file is left out."""
    for what, name in found:
        way = what.split("::")
        supers = next((number for number, one in enumerate(way) if one != "super"), len(way))
        if supers == 0 or supers > depth:
            yield "::".join(way[min(supers, depth) :]), name


def _rust_inline(text: bytes, found: dict[str, list[str]]) -> Mentions:
    for path in set(_RUST_INLINE.findall(text)):
        what, _colons, name = str(path, "ascii").rpartition("::")
        found.setdefault(intern(what), []).append(intern(name))
    return found


# Java

_CLASS_NAME = re.compile(rb"[A-Z]\w*")


def _java(node: Tree) -> Iterator[tuple[str, str]]:
    everything = node.type == "package_declaration" or any(
        child.type == "asterisk" for child in node.children
    )
    for child in node.children:
        if child.type in {"scoped_identifier", "identifier"}:
            yield _text(child) + ".*" * everything, ""


def _java_names(text: bytes, found: dict[str, list[str]]) -> Mentions:
    packages = [what for what in found if what.endswith(".*")]
    code, *commented = text.split(b"/*") if packages else [b""]
    code += b"".join(part.partition(b"*/")[2] for part in commented)
    names = tuple([intern(str(name, "ascii")) for name in set(_CLASS_NAME.findall(code))])
    return {**found, **dict.fromkeys(packages, names)}


_C_QUERY = "(preproc_include path: [(string_literal) (system_lib_string)] @mention)"

_PYTHON = Language(
    family=PYTHON,
    package="tree_sitter_python",
    signs=Signs(
        words=(word("import", r"(?!\w)"),),
        comment=b"#",
        enclosing=((b'"""', b'"""'), (b"'''", b"'''")),
    ),
    query="[(import_statement) (import_from_statement)] @mention",
    read=_python,
)
_JAVASCRIPT = Language(
    family=SCRIPT,
    package="tree_sitter_javascript",
    signs=_signs(*_SCRIPT_WORDS),
    query=_SCRIPT_QUERY,
    read=_script,
)
_TYPESCRIPT = Language(
    family=SCRIPT,
    package="tree_sitter_typescript",
    signs=_signs(*_SCRIPT_WORDS),
    query=_TYPED_SCRIPT_QUERY,
    read=_script,
    grammar="language_typescript",
)
_TSX = Language(
    family=SCRIPT,
    package="tree_sitter_typescript",
    signs=_signs(*_SCRIPT_WORDS),
    query=_TYPED_SCRIPT_QUERY,
    read=_script,
    grammar="language_tsx",
)
_GO = Language(
    family=GO,
    package="tree_sitter_go",
    signs=_signs(word("import", r"(?!\w)")),
    query="(import_spec path: [(interpreted_string_literal) (raw_string_literal)] @mention)",
    read=_path,
)
_RUST = Language(
    family=RUST,
    package="tree_sitter_rust",
    signs=_signs(word("use", r"(?!\w)" + _SAID), word("mod", r"\s"), word("extern", r"\s")),
    query="[(use_declaration) (mod_item !body) (extern_crate_declaration)] @mention",
    read=_rust,
    more=_rust_inline,
)
_JAVA = Language(
    family=JAVA,
    package="tree_sitter_java",
    signs=_signs(word("import", r"\s" + _SAID), word("package", r"\s" + _SAID)),
    query="[(package_declaration) (import_declaration)] @mention",
    read=_java,
    more=_java_names,
)
_C_SIGNS = _signs(word("include", r"""\s*["</\\]"""))
_C = Language(family=C, package="tree_sitter_c", signs=_C_SIGNS, query=_C_QUERY, read=_path)
_CPP = Language(family=C, package="tree_sitter_cpp", signs=_C_SIGNS, query=_C_QUERY, read=_path)

_LANGUAGES = {
    **dict.fromkeys(("py", "pyi"), _PYTHON),
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), _JAVASCRIPT),
    **dict.fromkeys(("ts", "mts", "cts"), _TYPESCRIPT),
    "tsx": _TSX,
    "go": _GO,
    "rs": _RUST,
    "java": _JAVA,
    "c": _C,
    **dict.fromkeys(("h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "inl", "ipp"), _CPP),
}


def language_of(path: str) -> Language | None:
    _name, dot, ending = path.rpartition("/")[2].rpartition(".")
    return _LANGUAGES.get(ending.lower()) if dot else None


def mentions(language: Language, text: bytes) -> Mentions:
    found = dict[str, list[str]]()
    for node in _statements(language, text):
        for what, name in language.read(node):
            if len(what) + len(name) < _LONGEST:
                found.setdefault(intern(what), []).append(intern(name))
    return language.more(text, found)


def _statements(language: Language, text: bytes) -> list[Tree]:
    text = head(text[:_PARSED], language.signs)
    if not text:
        return []
    parser, cursor = _parser(language.package, language.grammar, language.query)
    found: dict[str, list[Tree]] = cursor.captures(parser.parse(text).root_node)
    # They come in the order of addresses in memory.
    return sorted(found.get("mention", []), key=_BEGIN)


@cache
def _parser(package: str, grammar: str, query: str) -> tuple[Any, Any]:
    from tree_sitter import Language as Grammar  # noqa: PLC0415 - an extra, needed nowhere else
    from tree_sitter import Parser, Query, QueryCursor  # noqa: PLC0415

    compiled: object = getattr(import_module(package), grammar)()
    language = Grammar(compiled)
    return Parser(language), QueryCursor(Query(language, query))
