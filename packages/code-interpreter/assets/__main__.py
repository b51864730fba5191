"""Starts the interpreter server: `python3 DIRECTORY`. See docs/code-interpreter.md."""

from code_interpreter.web import main

main()
