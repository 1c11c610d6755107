"""The operator: EmbeddingModel to running gateways and engines. Sees neither a text nor a vector."""
