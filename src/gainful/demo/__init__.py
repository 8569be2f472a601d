"""The demonstration: a soil survey with four kinds of instruments, gainful against chance."""
