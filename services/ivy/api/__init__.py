"""The HTTP API's shapes: what comes in, what goes out, and how both are described. Knows no server."""
