"""The program. It is started by the name of this file, without the package `weft`, which would load too much."""

import sys
from importlib import import_module

# A stand-in for the package `weft`: its real `__init__` imports `typing`, which the supervisor does without.
package = type(sys)("weft")
package.__path__ = [__file__.rpartition("/hosts/")[0]]
sys.modules["weft"] = package
import_module("weft.hosts.supervisor.start").main(sys.argv[1:])
