"""``python -m intrabench``."""

from intrabench.cli import main

main()
