"""Doctests of modules whose package is not installed are left out."""

from importlib.util import find_spec

NEEDED = {"torch": ["torch.py", "_compaction.py", "_hard_concrete.py"]}
collect_ignore = [file for name, files in NEEDED.items() if not find_spec(name) for file in files]
