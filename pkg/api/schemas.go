package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/schema"
)

// schemaPaths are open to everybody: editors have no token, and the schemas
// say only what this version of Slipway reads.
const schemaPaths = "/schema/"

// schemas serves the JSON Schema of each kind of document, and of all as
// slipway.json. Each is read from what is built in when it is first asked for.
func (s *Server) schemas() {
	serve := func(name string, kinds ...ref.Kind) {
		doc := sync.OnceValues(func() ([]byte, error) { return schema.JSON(kinds...) })
		s.mux.HandleFunc("GET "+schemaPaths+name+".json", func(w http.ResponseWriter, r *http.Request) {
			text, err := doc()
			if err != nil {
				s.refuse(w, r, err)
				return
			}
			sum := sha256.Sum256(text)
			w.Header().Set("Content-Type", "application/schema+json")
			w.Header().Set("Cache-Control", "public, max-age=3600")
			w.Header().Set("Etag", `"`+hex.EncodeToString(sum[:8])+`"`)
			w.Header().Set("Access-Control-Allow-Origin", "*") // editors in a browser
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
		})
	}
	for _, kind := range ref.Kinds() {
		serve(string(kind), kind)
	}
	serve("slipway", ref.Kinds()...)
}
