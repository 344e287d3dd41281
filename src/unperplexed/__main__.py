"""Run the command line with ``python -m unperplexed``."""

import sys

from .cli.parser import main

sys.exit(main())
