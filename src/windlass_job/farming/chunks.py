"""Many calls of one function as one task."""

from typing import Any, Callable, List, Tuple


def call_each(function: "Callable[..., Any]", chunk: "List[Tuple[Any, ...]]") -> "List[Any]":
    return [function(*args) for args in chunk]
