package gcp

import (
	"errors"
	"net/http"
)

// GcpScopeMonitoringRead is asked for by name.
const GcpScopeMonitoringRead = ""

// ErrGoogleApplicationCrendentialsNotFound is what a trigger gets that has nothing of GCP.
var ErrGoogleApplicationCrendentialsNotFound = errors.New("this KEDA was built without GCP")

func GetGCPOAuth2HTTPTransport(...any) (http.RoundTripper, error) {
	return nil, ErrGoogleApplicationCrendentialsNotFound
}
