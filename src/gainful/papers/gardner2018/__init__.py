"""Gardner 2018, Discovering and Exploiting Structure for Gaussian Processes: hearing (3, 4), sums (5), scale (6)."""
