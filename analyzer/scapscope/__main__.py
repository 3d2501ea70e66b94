"""Runs the command line: ``python -m scapscope`` is the same as ``scapscope``."""

from scapscope.cli import main

if __name__ == "__main__":
    main()
