"""Which dimensions act together: beliefs over partitions of them, by Markov chains (Gardner 2018, ch. 5)."""

from gainful.beliefs.partitions.belief import PartitionBelief
from gainful.beliefs.partitions.partitions import Partitions, Progress

__all__ = ["PartitionBelief", "Partitions", "Progress"]
