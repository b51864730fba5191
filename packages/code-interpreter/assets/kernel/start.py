"""Starts the Python kernel of a context."""

import os
import sys

# Cells see their own directory first, as in a notebook, and not that of this file.
sys.path[0] = ""
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import code_interpreter_kernel

code_interpreter_kernel.run()
