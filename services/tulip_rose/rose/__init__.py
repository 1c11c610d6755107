"""ROSE: the engine. `step(batch) -> LazyTensor`. Knows neither the network, nor asyncio, nor protobuf."""
