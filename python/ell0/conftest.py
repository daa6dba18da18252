"""Doctests of modules that need a package which is not installed are left out."""

from importlib.util import find_spec

NEED = {
    "gymnasium": ["worlds.py"],
    "pysindy": ["pysindy.py"],
    "sklearn": ["sklearn"],
    "torch": ["torch.py", "_compaction.py", "_hard_concrete.py"],
}
collect_ignore = [file for name, files in NEED.items() if not find_spec(name) for file in files]
