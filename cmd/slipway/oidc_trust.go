package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/identity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// trustForms are what has a cloud trust tokens, by the cloud and the form.
//
//go:embed trust/*
var trustForms embed.FS

// trust is what a cloud is told.
type trust struct {
	Issuer, Subject string
	Audience        string // of Vault
	Role            string // of AWS an ARN, of Vault a name
	Tags            bool   // AWS's session gets tags
	RoleOnly        bool   // the cloud knows the issuer already
	Project         string // Google's
	ServiceAccount  string // Google's
	Application     string // Azure's object id
	Policy          string // of Vault
}

// Place is the issuer as AWS names it.
func (t trust) Place() string { return strings.TrimPrefix(t.Issuer, "https://") }

// Arn is a part of the role's ARN, counted from 0.
func (t trust) Arn(part int) string { return strings.Split(t.Role, ":")[part] }

// Name is the role's name alone.
func (t trust) Name() string { return path.Base(t.Arn(5)) }

// Path is where the role is in its account, "/" in most cases.
func (t trust) Path() string {
	return strings.TrimSuffix(strings.TrimPrefix(t.Arn(5), "role"), t.Name())
}

// Label is the subject as a name of what is made for it.
func (t trust) Label() string {
	return "slipway-" + strings.ToLower(strings.Map(func(c rune) rune {
		if c == ':' || c == '_' || c == '$' || c == '.' {
			return '-'
		}
		return c
	}, strings.TrimPrefix(t.Subject, "account:")))
}

func oidcTrustCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "trust", Short: "Print what a cloud or a vault is told so that it trusts tokens",
		Long: "Trust prints the documents that have a cloud or a vault trust the tokens of a connector, or of a project's own tasks:\n" +
			"without --connector what --org and --project name, an empty --project being the organization. It changes nothing.",
	}
	c.AddCommand(trustAWSCommand(a), trustGoogleCommand(a), trustAzureCommand(a), trustVaultCommand(a))
	return c
}

// trustCommand is a cloud's, with what all have.
func trustCommand(a *app, t *trust, cloud, what string, forms ...string) *cobra.Command {
	var connector, form string
	c := &cobra.Command{
		Use: cloud, Short: what, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !slices.Contains(forms, form) {
				return fault.New(fault.Invalid, "the form is %q; want one of %s", form, strings.Join(forms, ", "))
			}
			return a.trust(c.Context(), *t, connector, cloud, form)
		},
	}
	c.Flags().StringVar(&connector, "connector", "", "reference of the connector whose tokens are to be trusted")
	c.Flags().StringVar(&form, "as", forms[0], "one of "+strings.Join(forms, ", "))
	_ = c.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func trustAWSCommand(a *app) *cobra.Command {
	t := &trust{}
	c := trustCommand(a, t, "aws", "Print a role of AWS that tokens are given", "policy", "cloudformation", "terraform")
	c.Example = "  slipway oidc trust aws --connector account.production --as cloudformation > role.yaml"
	c.Flags().StringVar(&t.Role, "role", "", "ARN of the role; the connector's if empty")
	c.Flags().BoolVar(&t.RoleOnly, "role-only", false, "the role's account has the issuer as an identity provider already")
	return c
}

func trustGoogleCommand(a *app) *cobra.Command {
	t := &trust{}
	c := trustCommand(a, t, "google", "Print a pool of Google Cloud by which tokens become a service account", "commands", "terraform")
	c.Flags().StringVar(&t.Project, "google-project", "", "id of the project of Google Cloud")
	c.Flags().StringVar(&t.ServiceAccount, "service-account", "", "e-mail address of the service account")
	c.Flags().BoolVar(&t.RoleOnly, "role-only", false, "the project has the pool slipway already")
	_, _ = c.MarkFlagRequired("google-project"), c.MarkFlagRequired("service-account")
	return c
}

func trustAzureCommand(a *app) *cobra.Command {
	t := &trust{}
	c := trustCommand(a, t, "azure", "Print a credential of an application of Azure", "credential", "terraform")
	c.Flags().StringVar(&t.Application, "application", "", "object id of the application, for terraform")
	return c
}

func trustVaultCommand(a *app) *cobra.Command {
	t := &trust{}
	c := trustCommand(a, t, "vault", "Print a role of HashiCorp Vault that tokens log in to", "commands", "terraform")
	c.Flags().StringVar(&t.Audience, "audience", "vault", "for whom the tokens are")
	c.Flags().StringVar(&t.Role, "role", "slipway", "name of the role")
	c.Flags().StringVar(&t.Policy, "policy", "slipway", "name of the policy that the role gives")
	c.Flags().BoolVar(&t.RoleOnly, "role-only", false, "the vault has the login method jwt at slipway/ already")
	return c
}

// trust prints what a cloud is told.
func (a *app) trust(ctx context.Context, t trust, connector, cloud, form string) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	status, err := client.Issuer(ctx)
	if err != nil {
		return err
	}
	t.Issuer = status.Issuer
	if connector != "" {
		r, err := ref.Parse(connector, scope)
		if err != nil {
			return fault.New(fault.Invalid, "--connector: %w", err)
		}
		if err := t.take(ctx, client, r, cloud); err != nil {
			return err
		}
		scope = r.Scope
	}
	scope.Account = path.Base(status.Issuer)
	t.Subject = identity.Subject(scope)
	if err := t.check(cloud, form); err != nil {
		return err
	}
	return t.write(a.out, cloud, form)
}

// take reads what a connector says of itself. One of no cloud is somebody's whose
// steps ask for tokens.
func (t *trust) take(ctx context.Context, client *apiclient.Client, r ref.Ref, cloud string) error {
	text, err := client.EntityYAML(ctx, apiclient.EntityKey{Scope: r.Scope, Kind: ref.Connector, ID: r.ID})
	if err != nil {
		return err
	}
	nodes, _ := yamldoc.Parse("connector "+r.ID, text)
	if len(nodes) != 1 {
		return fault.New(fault.Invalid, "the connector %s isn't one document", r.ID)
	}
	typ, credential := nodes[0].At("connector").Text("type"), nodes[0].At("connector", "spec", "credential")
	if by := credential.Text("type"); cloud != "aws" || typ != "Aws" || by != "OidcAuthentication" {
		return fault.New(fault.Invalid, "the connector %s is of the type %s and logs in by %q; want one of the type Aws and OidcAuthentication, for aws", r.ID, typ, by)
	}
	if t.Role == "" {
		t.Role = credential.At("spec").Text("iamRoleArn")
	}
	if tags := credential.At("spec", "sessionTagKeys"); tags != nil {
		t.Tags = len(tags.Items) > 0
	}
	return nil
}

// check says what is missing for a form.
func (t trust) check(cloud, form string) error {
	switch cloud {
	case "aws":
		if parts := strings.Split(t.Role, ":"); len(parts) != 6 || parts[2] != "iam" || !strings.HasPrefix(parts[5], "role/") {
			return fault.New(fault.Invalid, "the role is %q; want --role with one such as arn:aws:iam::123456789012:role/deployer", t.Role)
		}
	case "azure":
		if form == "terraform" && t.Application == "" {
			return fault.New(fault.Invalid, "the application isn't named; want --application with its object id")
		}
	}
	return nil
}

// write writes a form. Each value is written so that it ends where it should.
func (t trust) write(out io.Writer, cloud, form string) error {
	quote := func(text string) (string, error) {
		doc, err := json.Marshal(text)
		return string(doc), err
	}
	name := cloud + "-" + form + ".tmpl"
	forms, err := template.New(name).Funcs(template.FuncMap{
		"quote": quote,
		"shell": func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" },
		"hcl": func(text string) (string, error) {
			quoted, err := quote(text)
			return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(quoted), err
		},
	}).ParseFS(trustForms, "trust/"+name)
	if err != nil {
		return fmt.Errorf("read the form %s: %w", name, err)
	}
	if err := forms.Execute(out, t); err != nil {
		return fmt.Errorf("write the form %s: %w", name, err)
	}
	return nil
}
