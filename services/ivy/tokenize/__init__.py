"""Text to token ids. Knows no HTTP, no gRPC and no engine."""
