"""Expressions of a model as those of SymPy."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

#: Names in backticks, numbers, words (perhaps of a function), and all else.
TOKENS = re.compile(
    r"`(?P<quoted>[^`]*)`"
    r"|(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[^\W\d][\w.]*)(?P<call>\s*\()?"
    r"|(?P<other>.)"
)


def expression(text: str, inputs: list[str]) -> Any:
    """The expression of a `model.json`, in symbols that are named as the inputs are."""
    try:
        sympy: Any = import_module("sympy")
        parse: Any = import_module("sympy.parsing.sympy_parser").parse_expr
    except ImportError:
        raise ImportError("to_sympy needs SymPy: pip install sympy") from None
    functions = ("exp", "log", "sqrt", "tanh", "sign", "sin", "cos")
    known: dict[str, Any] = {name: getattr(sympy, name) for name in functions}
    known["abs"] = sympy.Abs
    # Inputs may be called as nothing in Python may be, so they get names that nothing else has.
    stands_for = {name: f"_input_{k}" for k, name in enumerate(inputs)}
    known |= {key: sympy.Symbol(name) for name, key in stands_for.items()}

    def python(token: re.Match[str]) -> str:
        word, quoted = token["word"], token["quoted"]
        if quoted is not None:
            return stands_for[quoted]
        if word is not None:
            return f"{word}(" if token["call"] else stands_for[word]
        return "**" if token["other"] == "^" else token[0]

    return parse(TOKENS.sub(python, text), local_dict=known)
