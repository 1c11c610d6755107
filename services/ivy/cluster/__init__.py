"""The set of engines as a cluster knows it: EndpointSlices, listed and watched. Knows no request and asks no engine."""
