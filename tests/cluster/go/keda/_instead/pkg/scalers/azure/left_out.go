package azure

import (
	"fmt"
	"net/http"

	"github.com/go-logr/logr"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
)

// TryAndGetAzureManagedPrometheusHTTPRoundTripper is asked before the other clouds, and says for all that none is here.
func TryAndGetAzureManagedPrometheusHTTPRoundTripper(_ logr.Logger, identity kedav1alpha1.AuthPodIdentity, _ map[string]string) (http.RoundTripper, error) {
	if identity.Provider == "" || identity.Provider == kedav1alpha1.PodIdentityProviderNone {
		return nil, nil
	}
	return nil, fmt.Errorf("this KEDA was built without the pod identity %q", identity.Provider)
}
