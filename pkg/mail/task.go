package mail

// Task is the payload of a task that sends one message through a mail server (semantics/pipeline §7.6).
type Task struct {
	Server  Server   `json:"server"`
	To      []string `json:"to,omitempty"` // addresses as in RFC 5322
	CC      []string `json:"cc,omitempty"`
	Subject string   `json:"subject"`
	HTML    string   `json:"html"`
	// FireAndForget says that a message that isn't taken is no failure.
	FireAndForget bool `json:"fireAndForget,omitempty"`
}

// Server is where mail is given to for delivery, and who says so.
type Server struct {
	Host string    `json:"host"`
	Port int       `json:"port"`
	TLS  Transport `json:"tls"`
	From string    `json:"from"` // the sender's address, as in RFC 5322
	// Username is empty where the server takes mail from anybody.
	Username string `json:"username,omitempty"`
	// Password is a placeholder of a secret until a claim opens it.
	Password string `json:"password,omitempty"`
}

// Transport says how a connection to a Server is kept private.
type Transport string

// The transports.
const (
	StartTLS Transport = "StartTLS" // begins in the clear and must become TLS before anything is said
	TLS      Transport = "TLS"      // from the first byte on
	Plain    Transport = "Plain"    // never; for a relay on the same machine
)
