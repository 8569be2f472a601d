"""Acquisition functions that exist only to be compared with, as they were published."""
