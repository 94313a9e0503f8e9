"""`python3 -m units VALUE UNIT UNIT`, as in `python3 -m units 5 km m`."""

import sys

from . import convert


def answer(words):
    value, source, target = words
    result = convert(float(value), source, target)
    return f"{result:g}"


def main(words):
    print(answer(words))


if __name__ == "__main__":
    main(sys.argv[1:])
