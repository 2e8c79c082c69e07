"""`python -m rcc.cli`, for where the script is not on the path."""

from rcc.cli import main

main()
