"""Gardner 2018, Discovering and Exploiting Structure for Gaussian Processes: hearing (chapters 3, 4), sums (5)."""
