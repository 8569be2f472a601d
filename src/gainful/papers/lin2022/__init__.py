"""Lin 2022: which kernel program made the data, found by asking."""
