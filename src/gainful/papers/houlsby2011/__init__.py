"""The experiments of Houlsby et al. 2011, "Bayesian active learning for classification and preference learning"."""
