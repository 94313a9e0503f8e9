"""Converts values from one unit to another; each module in `quantities` knows the units of one quantity."""

import importlib
import pkgutil

from . import quantities


def known():
    """The modules, by the names of their quantities."""
    names = [module.name for module in pkgutil.iter_modules(quantities.__path__)]
    return {name: importlib.import_module(f"{__name__}.quantities.{name}") for name in names}


def convert(value, source, target):
    for quantity in known().values():
        if {source, target} <= set(quantity.UNITS):
            return quantity.convert(value, source, target)
    raise ValueError(f"cannot convert {source} to {target}")
