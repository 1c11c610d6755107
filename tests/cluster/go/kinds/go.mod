module trellis.dev/tests/cluster/kinds

go 1.26.0

// Nothing is built of these: their CRDs are what tests take.
require (
	github.com/prometheus-operator/prometheus-operator v0.85.0
	sigs.k8s.io/gateway-api v1.3.0
)
