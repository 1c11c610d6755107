"""`plan-buckets`: what an engine has seen, as a file, becomes the `cudaGraphs` of a manifest. No model, no device."""
