"""A fleet of engines in virtual time, from one request to a day: see `bench.simulate_autoscaling`."""
