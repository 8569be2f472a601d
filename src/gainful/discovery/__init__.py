"""What a table shows: its answers along a date or a number, taken apart by kernel programs, and a report of it."""

from gainful.discovery.calendar import Calendar
from gainful.discovery.search import Discovery, discover
from gainful.discovery.series import Series, read_series

__all__ = ["Calendar", "Discovery", "Series", "discover", "read_series"]
