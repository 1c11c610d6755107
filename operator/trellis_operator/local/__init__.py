"""One manifest as processes on this machine, without a cluster. Never knows Kubernetes."""
