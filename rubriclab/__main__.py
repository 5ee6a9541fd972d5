"""`python -m rubriclab`: the same as the command."""

from rubriclab.cli.main import main

main()
