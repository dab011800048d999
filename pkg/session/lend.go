package session

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path"
	"sync"
	"time"
)

// lender gives commands credentials that change while they run. It listens on the
// machine alone, and each command has its own token.
type lender struct {
	mu       sync.Mutex
	listener net.Listener // nil until something is lent
	lent     map[string]loan
}

type loan struct {
	token       string
	credentials Credentials
}

// put lends credentials under a name; what is lent already is replaced.
func (l *lender) put(name string, c Credentials) (Lent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listener == nil {
		var err error
		if l.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return Lent{}, fmt.Errorf("listen for who asks for credentials: %w", err)
		}
		l.lent = map[string]loan{}
		server := &http.Server{Handler: l, ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = server.Serve(l.listener) }() // it ends with the listener
	}
	token := rand.Text()
	if was, ok := l.lent[name]; ok {
		token = was.token
	}
	l.lent[name] = loan{token, c}
	return Lent{URL: "http://" + l.listener.Addr().String() + "/" + name, Token: token}, nil
}

// end takes back what is lent under a name.
func (l *lender) end(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.lent, name)
}

// close takes back everything.
func (l *lender) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listener != nil {
		_ = l.listener.Close() // nobody is served any more
	}
}

// ServeHTTP gives credentials to who has their token.
func (l *lender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	one, ok := l.lent[path.Base(r.URL.Path)]
	l.mu.Unlock()
	if !ok || r.Method != http.MethodGet || subtle.ConstantTimeCompare([]byte(one.token), []byte(r.Header.Get("Authorization"))) != 1 {
		answer(w, http.StatusForbidden, refusal{"these credentials are lent to somebody else"})
		return
	}
	answer(w, http.StatusOK, one.credentials)
}

// lend takes in credentials of an attempt, also before it is started.
func (h *Host) lend(req *http.Request) (int, any, error) {
	step, attempt, err := named(req)
	if err != nil {
		return 0, nil, err
	}
	var c Credentials
	if err := json.NewDecoder(http.MaxBytesReader(nil, req.Body, 64<<10)).Decode(&c); err != nil {
		return 0, nil, no{http.StatusBadRequest, "the credentials can't be read"}
	}
	h.mu.Lock()
	r := h.runs[attemptDir(step, attempt)]
	over := h.closed || r != nil && r.state.Phase == Ended
	h.mu.Unlock()
	if over {
		return 0, nil, no{http.StatusConflict, "the attempt has ended"}
	}
	out, err := h.lender.put(attemptDir(step, attempt), c)
	return http.StatusOK, out, err
}
