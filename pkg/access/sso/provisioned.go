package sso

// Provisioned is what a directory says over SCIM of a user or a group, beside what
// the document says of every one. Its zero value is that of one that no directory
// has.
type Provisioned struct {
	// Managed: the directory says who it is, or who is in it, and nobody else.
	Managed bool
	// ExternalID is its name in the directory.
	ExternalID string
	// UserName is what the directory calls a user; empty: by the mail address.
	UserName string
	// DisplayName is the name as it was sent; empty: it is the document's.
	DisplayName string
	GivenName   string
	FamilyName  string
}
