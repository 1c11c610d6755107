"""Tulip (gRPC, scheduling) and ROSE (the engine): one deployable, two rooms."""
