"""Houlsby, Huszár, Ghahramani & Lengyel 2011, Bayesian active learning for classification and preference learning."""
