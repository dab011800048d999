package google

import "encoding/json"

// project is the project that a service account's key belongs to.
func project(key []byte) string {
	var doc struct {
		Project string `json:"project_id"`
	}
	if json.Unmarshal(key, &doc) != nil {
		return ""
	}
	return doc.Project
}

// reason is what a token's server says is wrong (RFC 6749 §5.2).
func reason(body []byte) string {
	var doc struct {
		Code string `json:"error"`
		Text string `json:"error_description"`
	}
	if json.Unmarshal(body, &doc) != nil {
		return "its answer can't be read"
	}
	return doc.Code + " " + doc.Text
}
