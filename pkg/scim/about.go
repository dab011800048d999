package scim

import (
	"slices"
	"strings"
)

// Config tells what the server can do (RFC 7643, 5).
func Config(base string) Object {
	no := map[string]any{"supported": false}
	return Object{
		"schemas":          []any{"urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"},
		"documentationUri": "https://datatracker.ietf.org/doc/html/rfc7644",
		"patch":            map[string]any{"supported": true},
		"bulk":             map[string]any{"supported": false, "maxOperations": 0, "maxPayloadSize": 0},
		"filter":           map[string]any{"supported": true, "maxResults": MostFound},
		"changePassword":   no, "sort": no, "etag": no,
		"authenticationSchemes": []any{map[string]any{
			"type": "oauthbearertoken", "name": "Bearer token", "description": "The token of a service account, in the header Authorization", "primary": true,
		}},
		"meta": map[string]any{"resourceType": "ServiceProviderConfig", "location": base + "/ServiceProviderConfig"},
	}
}

// MostFound is how many resources an answer has at most.
const MostFound = 200

// ResourceTypes are what there is (RFC 7643, 6).
func ResourceTypes(base string) []Object {
	of := func(name, path, schema string) Object {
		return Object{
			"schemas": []any{"urn:ietf:params:scim:schemas:core:2.0:ResourceType"}, "id": name, "name": name, "endpoint": path, "schema": schema,
			"meta": map[string]any{"resourceType": "ResourceType", "location": base + "/ResourceTypes/" + name},
		}
	}
	return []Object{of("User", "/Users", UserSchema), of("Group", "/Groups", GroupSchema)}
}

// attribute is one of a schema.
type attribute struct {
	name, kind string
	required   bool
	exact      bool // case counts
	unique     bool
	readOnly   bool
	several    []attribute // of each of its values
	within     []attribute // of its one value
	refers     []string    // to resources of these types
}

func (a attribute) object() map[string]any {
	out := map[string]any{
		"name": a.name, "type": a.kind, "multiValued": a.several != nil, "required": a.required, "caseExact": a.exact,
		"mutability": "readWrite", "returned": "default", "uniqueness": "none",
	}
	if a.unique {
		out["uniqueness"] = "server"
	}
	if a.readOnly {
		out["mutability"] = "readOnly"
	}
	if len(a.refers) > 0 {
		out["referenceTypes"] = a.refers
	}
	var below []any
	for _, b := range slices.Concat(a.several, a.within) {
		below = append(below, b.object())
	}
	if below != nil {
		out["subAttributes"] = below
	}
	return out
}

// Schemas say what users and groups have (RFC 7643, 7).
func Schemas(base string) []Object {
	of := func(id, name string, all ...attribute) Object {
		var list []any
		for _, a := range all {
			list = append(list, a.object())
		}
		return Object{
			"schemas": []any{"urn:ietf:params:scim:schemas:core:2.0:Schema"}, "id": id, "name": name, "description": "A " + strings.ToLower(name) + " of Slipway", "attributes": list,
			"meta": map[string]any{"resourceType": "Schema", "location": base + "/Schemas/" + id},
		}
	}
	return []Object{
		of(
			UserSchema, "User",
			attribute{name: "userName", kind: "string", required: true, unique: true},
			attribute{name: "externalId", kind: "string", exact: true},
			attribute{name: "displayName", kind: "string"},
			attribute{name: "name", kind: "complex", within: []attribute{
				{name: "formatted", kind: "string", readOnly: true}, {name: "givenName", kind: "string"}, {name: "familyName", kind: "string"},
			}},
			attribute{name: "emails", kind: "complex", several: []attribute{
				{name: "value", kind: "string"}, {name: "type", kind: "string"}, {name: "primary", kind: "boolean"},
			}},
			attribute{name: "active", kind: "boolean"},
		),
		of(
			GroupSchema, "Group",
			attribute{name: "displayName", kind: "string", required: true, unique: true},
			attribute{name: "externalId", kind: "string", exact: true},
			attribute{name: "members", kind: "complex", several: []attribute{
				{name: "value", kind: "string", exact: true}, {name: "$ref", kind: "reference", readOnly: true, refers: []string{"User"}}, {name: "type", kind: "string"},
			}},
		),
	}
}

// Named finds one of several by its id.
func Named(all []Object, id string) (Object, bool) {
	i := slices.IndexFunc(all, func(o Object) bool { return strings.EqualFold(o["id"].(string), id) })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}
