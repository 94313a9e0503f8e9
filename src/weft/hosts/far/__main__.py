"""The entry of the zip file: `far.pyz serve RUN`, or `far.pyz supervisor DIRECTORY HEAD TAIL LINGER`."""

import sys
from importlib import import_module

module = {"serve": "weft.hosts.far.serve", "supervisor": "weft.hosts.supervisor.start"}[sys.argv[1]]
import_module(module).main(sys.argv[2:])
