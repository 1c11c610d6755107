"""The edges to a cluster: what reads and writes through the API server. Decisions are made elsewhere."""
