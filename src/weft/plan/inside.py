"""Where in a file a character of a value stands."""

from weft.plan.document import Document, Scalar, line_of


def inside(document: Document, node: Scalar, offset: int, width: int = 1) -> Scalar:
    """A stand-in for the part of the value at this offset, for messages.

    Exact for values on one line and for literal blocks; of a value that YAML folds, the beginning.
    """
    before, _, line_before = node.text[:offset].rpartition("\n")
    marks = "x" * width
    if node.style == "|":
        number = node.line + 1 + (before.count("\n") + 1 if "\n" in node.text[:offset] else 0)
        content = node.text.split("\n")[number - node.line - 1]
        start = line_of(document.text, number).find(content)
        if start >= 0:
            return Scalar(marks, number, start + 1 + len(line_before), "")
    elif "\n" not in node.text and node.style != ">":
        start = node.column - 1 + len(node.style)
        if line_of(document.text, node.line)[start:].startswith(node.text):
            return Scalar(marks, node.line, start + offset + 1, "")
    return node
