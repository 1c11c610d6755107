"""infinity 0.0.78, the peer over HTTP, in a virtual environment of its own."""
