"""How many engines a model needs: the formula, and the same as a question to Prometheus. Pure."""
