"""``python -m intrabench``."""

from intrabench.cli.main import main

main()
