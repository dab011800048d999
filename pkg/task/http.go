package task

// HTTP sends one request (semantics/pipeline §7.5).
type HTTP struct {
	Method  string       `json:"method"`
	URL     string       `json:"url"`
	Headers []HTTPHeader `json:"headers,omitempty"`
	Body    string       `json:"body,omitempty"`
	// Certificate, with others that lead to a known one, and its Key show the
	// server who asks; PEM. Empty: nobody in particular.
	Certificate string `json:"certificate,omitempty"`
	Key         string `json:"key,omitempty"`
}

// HTTPHeader is one header field.
type HTTPHeader struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}
