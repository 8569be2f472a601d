"""scores → next queries: from a pool, from a box, from a stream, several at once."""

from gainful.selection.choose import Choice, Option, Search, choose
from gainful.selection.stream import Stream

__all__ = ["Choice", "Option", "Search", "Stream", "choose"]
