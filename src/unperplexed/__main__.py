"""Run the command line with ``python -m unperplexed``."""

import sys

from .cli import main

sys.exit(main())
