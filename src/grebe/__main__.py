"""`python -m grebe` is `grebe`."""

import sys

from grebe.cli import main

sys.exit(main())
