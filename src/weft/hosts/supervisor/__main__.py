"""The program. It is run by the name of this file, as the package around it would load more than it needs."""

import sys
from importlib import import_module

sys.path.append(__file__.rpartition("/supervisor/")[0])
import_module("supervisor.start").main(sys.argv[1:])
