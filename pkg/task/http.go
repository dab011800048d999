package task

// HTTP sends one request (pipeline spec §7.5).
type HTTP struct {
	Method  string       `json:"method"`
	URL     string       `json:"url"`
	Headers []HTTPHeader `json:"headers,omitempty"`
	Body    string       `json:"body,omitempty"`
}

// HTTPHeader is one header field.
type HTTPHeader struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}
