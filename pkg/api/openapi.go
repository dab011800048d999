package api

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

//go:generate go test -run TestOpenAPI -update .

// description is the part of the OpenAPI document that isn't generated from
// the handlers.
func description(version string) huma.Config {
	cfg := huma.DefaultConfig("Slipway", version)
	cfg.OpenAPIPath, cfg.DocsPath, cfg.SchemasPath = "", "", ""
	cfg.CreateHooks = nil // no $schema links in answers
	cfg.Formats = map[string]huma.Format{
		"application/json": huma.DefaultJSONFormat, "application/yaml": {Marshal: writeYAML},
		"json": huma.DefaultJSONFormat, // of the framework's own refusals, whose type ends in +json
	}
	cfg.Transformers = []huma.Transformer{asProblem}
	cfg.Info.Description = "Continuous delivery with Harness NG YAML. Every endpoint but those of webhooks, approval links and the issuer of tokens needs a token."
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"bearer": {Type: "http", Scheme: "bearer", Description: "Authorization: Bearer pat.<account>.<id>.<random>"},
		"apiKey": {Type: "apiKey", In: "header", Name: "x-api-key"},
	}
	cfg.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	cfg.Security = []map[string][]string{{"bearer": {}}, {"apiKey": {}}}
	return cfg
}

// schemaName names a type in the description. GitOps has words that others have,
// too, such as Retry and Report.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	_, below, found := strings.Cut(t.PkgPath(), "/pkg/gitops")
	switch {
	case !found:
		return name
	case below == "/display":
		return "GitOps" + name
	case below == "/protocol":
		return "GitOpsProtocol" + name
	}
	return "Argo" + name
}

// writeYAML gives an entity's document, and anything else as
// JSON, which is YAML too.
func writeYAML(w io.Writer, v any) error {
	switch e := v.(type) {
	case Entity:
		_, err := io.WriteString(w, e.YAML)
		return err
	case ResolvedEntity:
		_, err := io.WriteString(w, e.YAML)
		return err
	}
	return json.NewEncoder(w).Encode(v)
}

// tidy takes the framework's own error model out of the document: Problem is
// what is sent.
func tidy(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas.Map()
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
}

// OpenAPI is the description of the API, as JSON. It is made anew at each
// call.
func (s *Server) OpenAPI() ([]byte, error) {
	api := s.newAPI(http.NewServeMux())
	for _, register := range s.endpoints {
		register(api)
	}
	tidy(api.OpenAPI())
	return json.MarshalIndent(api.OpenAPI(), "", "  ")
}

func (s *Server) openAPI(w http.ResponseWriter, r *http.Request) {
	doc, err := s.OpenAPI()
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(doc) // the caller has gone; nobody is left to tell
}
