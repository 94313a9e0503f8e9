"""Mentions: the imports and includes of a file as they are written, and the names it takes from each.

Files are parsed with tree-sitter, which continues after errors: half a file, or a file in an older version of its
language, still yields its references. Each language has a query for the relevant statements and a function that
reads one. The function reads the text of the statement instead of its child nodes: that is faster, and no depth
of nesting is too deep for it.

language                target                                                names
Python                  `package.module`, with leading dots if relative       after `import`
JavaScript, TypeScript  the text between the quotes                           as in the other file, or as in this
                                                                              one if it has none there
Go, C, C++              the path                                              none
Rust                    `crate::a`; `mod:a` or `path:a.rs` for a module in    the last of each `use`
                        a file of its own
Java                    the class; `a.b.*` for a package, including the       every name that may be a class
                        file's own

The empty name stands for the whole target. Java does not name what a file uses from a package, so every name that
looks like a class counts.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from operator import attrgetter
from sys import intern
from typing import Any

from msgspec import Struct

from weft.decompose.references.heads import Keyword, Signs, head, word

Tree = Any  # a node of tree-sitter, which is an extra
Mentions = Mapping[str, Collection[str]]
"""The names taken from each target; a name may occur several times."""
_Reader = Callable[[Tree], Iterable[tuple[str, str]]]
_More = Callable[[bytes, dict[str, list[str]]], Mentions]

_BEGIN = attrgetter("start_byte")
_PARSED = 64 * 1024  # bytes of a file
_LONGEST = 1000  # anything longer is not a name
_DEEPEST = 32  # names of one path, and lists in lists
PYTHON, SCRIPT, GO, RUST, JAVA, C = "python", "script", "go", "rust", "java", "c"


class Language(Struct, frozen=True, kw_only=True):
    """A language in which Weft can read mentions."""

    family: str
    """Languages of one family refer to each other's files."""
    package: str
    """The Python package with the grammar."""
    signs: Signs
    query: str
    read: _Reader
    grammar: str = "language"
    more: _More = lambda _text, found: found
    """Adds mentions that are not statements."""


def _text(node: Tree) -> str:
    return str(node.text, "utf-8", "surrogateescape")


def _path(node: Tree) -> Iterator[tuple[str, str]]:
    yield _text(node).strip("\"'`<>"), ""


_STATEMENT_REST = r"[^;{]{0,400}"  # may span several lines


def _signs(*words: Keyword) -> Signs:
    return Signs(words=words, comment=b"//", enclosing=((b"/*", b"*/"),))


# Python

_PYTHON_NOISE = re.compile(r"#[^\n]*|[\\()\s]+")
_IMPORT = re.compile(r"(?<!\w)import(?!\w)")


def _python(statement: Tree) -> list[tuple[str, str]]:
    text = _text(statement)
    if "\n" in text or "(" in text:
        text = _PYTHON_NOISE.sub(" ", text)
    module, _import, names = text.partition(" import ")  # nearly all are written so
    if not names:
        module, names = (*_IMPORT.split(text, maxsplit=1), "")[:2]
    imported = [words[0] for item in names.split(",") if (words := item.split(None, 1))]
    module = module.removeprefix("from").strip()
    if not module:
        return [(name, "") for name in imported]
    return [(module, "" if name == "*" else name) for name in imported]


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
        clause = _text(node.child_by_field_name("name"))
    else:
        source = node.child_by_field_name("source")
        clause = str(node.text[: source.start_byte - node.start_byte], "utf-8", "replace")
    target = _text(source).strip("\"'`")
    return [(target, name) for name in _script_names(clause)]


def _script_names(clause: str) -> list[str]:
    """Returns the imported names: D, a and c for `D, {a as b, default as c}`."""
    before, brace, inside = _SCRIPT_NOISE.sub(" ", clause).partition("{")
    words = [word for word in _SCRIPT_NAME.findall(before) if word not in {"import", "export", "from"}]
    names = words[:1] if "*" not in before else []
    for item in inside.partition("}")[0].split(",") if brace else ():
        words_of_item = _SCRIPT_NAME.findall(item)
        if words_of_item and "..." not in item:
            names.append(words_of_item[-1] if words_of_item[0] == "default" else words_of_item[0])
    return names or [""]


# Rust

_RUST_TOKEN = re.compile(r"[\w#]+|[{},*]")
_RUST_INLINE = re.compile(rb"\bcrate(?:::\w+){2,16}+(?!::)")
_RUST_PATH = re.compile(r'#\s*\[\s*path\s*=\s*"([^"]*)"')


def _rust(node: Tree) -> Iterable[tuple[str, str]]:
    if node.type == "use_declaration":
        argument = _text(node.child_by_field_name("argument"))
        return (
            _rust_names(argument)
            if "super" not in argument
            else _rust_leave_modules(_rust_names(argument), _rust_depth(node))
        )
    name = _text(node.child_by_field_name("name"))
    if node.type == "extern_crate_declaration":
        return [(name, "")]
    previous = node.prev_named_sibling
    path_attribute = (
        _RUST_PATH.match(_text(previous))
        if previous is not None and previous.type == "attribute_item"
        else None
    )
    return [(f"path:{path_attribute[1]}" if path_attribute else f"mod:{name}", "")]


def _rust_names(text: str) -> Iterator[tuple[str, str]]:
    """Yields target and name. For `a::{b, c::{self, D}, e as f}`: b of a, all of a::c, D of a::c, e of a."""
    lists, base, own = list[list[str]](), list[str](), list[str]()
    for lexeme in _RUST_TOKEN.findall(text):
        if lexeme == "{":
            lists.append(base)
            base, own = base + own, []
            if len(lists) + len(base) > _DEEPEST:
                return
        elif lexeme in {",", "}"}:
            yield from _rust_path(base, own)
            own = []
            if lexeme == "}" and lists:
                base = lists.pop()
        else:
            own.append(lexeme.removeprefix("r#"))
    yield from _rust_path(base, own)


def _rust_path(base: list[str], own: list[str]) -> Iterator[tuple[str, str]]:
    names = own[: own.index("as")] if "as" in own else own
    if names:
        *before, last = base + names
        last = "" if last in {"*", "self"} else last
        yield ("::".join(before), last) if before else (last, "")


def _rust_depth(node: Tree) -> int:
    """Counts the enclosing modules without a file of their own."""
    depth = 0
    while (node := node.parent) is not None:
        depth += node.type == "mod_item"
    return depth


def _rust_leave_modules(mentions: Iterable[tuple[str, str]], depth: int) -> Iterator[tuple[str, str]]:
    """Rewrites paths with `super` as seen from outside the inline modules; omits targets in the same file."""
    for target, name in mentions:
        names = target.split("::")
        supers = next(
            (number for number, name_in_path in enumerate(names) if name_in_path != "super"), len(names)
        )
        if supers == 0 or supers > depth:
            yield "::".join(names[min(supers, depth) :]), name


def _rust_inline(text: bytes, mentions: dict[str, list[str]]) -> Mentions:
    for path in set(_RUST_INLINE.findall(text)):
        target, _colons, name = str(path, "ascii").rpartition("::")
        mentions.setdefault(intern(target), []).append(intern(name))
    return mentions


# Java

_CLASS_NAME = re.compile(rb"[A-Z]\w*")


def _java(node: Tree) -> Iterator[tuple[str, str]]:
    is_wildcard = node.type == "package_declaration" or any(
        child.type == "asterisk" for child in node.children
    )
    for child in node.children:
        if child.type in {"scoped_identifier", "identifier"}:
            yield _text(child) + ".*" * is_wildcard, ""


def _java_names(text: bytes, mentions: dict[str, list[str]]) -> Mentions:
    packages = [target for target in mentions if target.endswith(".*")]
    code, *commented = text.split(b"/*") if packages else [b""]
    code += b"".join(part.partition(b"*/")[2] for part in commented)
    names = tuple([intern(str(name, "ascii")) for name in set(_CLASS_NAME.findall(code))])
    return {**mentions, **dict.fromkeys(packages, names)}


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
    signs=_signs(word("use", r"(?!\w)" + _STATEMENT_REST), word("mod", r"\s"), word("extern", r"\s")),
    query="[(use_declaration) (mod_item !body) (extern_crate_declaration)] @mention",
    read=_rust,
    more=_rust_inline,
)
_JAVA = Language(
    family=JAVA,
    package="tree_sitter_java",
    signs=_signs(word("import", r"\s" + _STATEMENT_REST), word("package", r"\s" + _STATEMENT_REST)),
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
    names_by_target = dict[str, list[str]]()
    for node in _statements(language, text):
        for target, name in language.read(node):
            if len(target) + len(name) < _LONGEST:
                # Interned, since thousands of files name the same few modules.
                names_by_target.setdefault(intern(target), []).append(intern(name))
    return language.more(text, names_by_target)


def _statements(language: Language, text: bytes) -> list[Tree]:
    # Two limits, as parsing dominates: the first bytes only, and of these only what may hold a mention.
    text = head(text[:_PARSED], language.signs)
    if not text:
        return []
    parser, cursor = _parser(language.package, language.grammar, language.query)
    captures: dict[str, list[Tree]] = cursor.captures(parser.parse(text).root_node)
    # tree-sitter returns captures in no stable order.
    return sorted(captures.get("mention", []), key=_BEGIN)


@cache
def _parser(package: str, grammar: str, query: str) -> tuple[Any, Any]:
    from tree_sitter import Language as Grammar  # noqa: PLC0415 - an extra, needed nowhere else
    from tree_sitter import Parser, Query, QueryCursor  # noqa: PLC0415

    compiled: object = getattr(import_module(package), grammar)()
    language = Grammar(compiled)
    return Parser(language), QueryCursor(Query(language, query))
