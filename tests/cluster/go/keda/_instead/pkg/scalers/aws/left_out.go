package aws

import "net/http"

// NewSigV4RoundTripper says that there is nothing of AWS in a trigger.
func NewSigV4RoundTripper(...any) (http.RoundTripper, error) { return nil, nil }
