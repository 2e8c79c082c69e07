# An old Python must get as far as this message: no syntax here that one of 3.0 does not know.
import sys

if sys.version_info < (3, 10):  # noqa: UP036
    sys.stderr.write("error[python-old]: this Python is too old\n  = help: use Python 3.10 or newer\n")
    sys.exit(2)

from rcc_node.cli import main

sys.exit(main())
