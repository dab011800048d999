package task

// Server is a system with an HTTP API, and how to prove who asks
// (semantics/entities §9). Credentials are placeholders of secrets until a
// claim opens them.
type Server struct {
	URL      string `json:"url"`
	Auth     Auth   `json:"auth"`
	Username string `json:"username,omitempty"` // Basic
	Password string `json:"password,omitempty"` // Basic
	Token    string `json:"token,omitempty"`    // Bearer
	OAuth    *OAuth `json:"oauth,omitempty"`    // RefreshToken
	// Account is the one in which is asked, of a system that has several.
	Account string `json:"account,omitempty"`
}

// Auth says which credentials a request to a Server has.
type Auth string

// The ways to prove who asks.
const (
	AuthNone         Auth = "None"
	AuthBasic        Auth = "Basic"        // user name and password, as in RFC 7617
	AuthBearer       Auth = "Bearer"       // a token, as in RFC 6750
	AuthRefreshToken Auth = "RefreshToken" // a token that is fetched with a refresh token, as in RFC 6749 §6
)

// OAuth is how an access token is fetched.
type OAuth struct {
	TokenURL     string `json:"tokenUrl"`
	RefreshToken string `json:"refreshToken"`
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret,omitempty"`
	Scope        string `json:"scope,omitempty"`
}

// NamedValue is a field of an issue or ticket, or a parameter of a build.
type NamedValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
