"""Which dimensions act together: beliefs over partitions of them, by Markov chains (Gardner 2018, ch. 5)."""
