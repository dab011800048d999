package task

// Google is how to prove to Google Cloud who asks (semantics/entities §9).
type Google struct {
	// Key is the JSON of a service account's key, as a placeholder until a claim
	// opens it; empty: what the delegate finds around it.
	Key string `json:"key,omitempty"`
}

// Azure is how to prove to Azure who asks (semantics/entities §9). The secret
// and the certificate are placeholders until a claim opens them.
type Azure struct {
	Government bool   `json:"government,omitempty"` // the cloud of the US government
	Tenant     string `json:"tenant,omitempty"`
	// Client is the id of an application, or of a user-assigned identity.
	Client      string `json:"client,omitempty"`
	Secret      string `json:"secret,omitempty"`
	Certificate string `json:"certificate,omitempty"` // PEM, with its private key
	// Managed asks for the identity of what the delegate runs on.
	Managed bool `json:"managed,omitempty"`
}

// GoogleBucket is a bucket of Cloud Storage; versions are the names of objects.
type GoogleBucket struct {
	Google Google `json:"google"`
	Bucket string `json:"bucket"`
}
