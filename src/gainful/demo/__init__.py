"""The demonstration: a soil survey with three instruments, gainful against chance."""
