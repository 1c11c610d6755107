"""Models that score: what lies between the states of a base model and one value a label."""
