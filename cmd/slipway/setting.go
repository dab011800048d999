package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/pkg/access/setting"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

func settingCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "setting", Aliases: []string{"settings"}, Short: "See and change settings", GroupID: groupAdmin,
		Long: "Settings are one document in each scope, of the kind setting, which apply saves, too. They are those of the account with --org ''.\n" +
			"What is set above is only made stricter within.",
	}
	complete := func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, one := range setting.All() {
			names = append(names, string(one.Name)+"\t"+one.Doc)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	c.AddCommand(&cobra.Command{
		Use: "list", Short: "List the settings as they hold here, with where each is set", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return showSettings(c.Context(), a, "") },
	}, &cobra.Command{
		Use: "get NAME", Short: "Show a setting as it holds here", Args: cobra.ExactArgs(1), ValidArgsFunction: complete,
		RunE: func(c *cobra.Command, args []string) error {
			return showSettings(c.Context(), a, setting.Name(args[0]))
		},
	}, &cobra.Command{
		Use: "set NAME VALUE", Short: "Set something for a scope and for what is in it", Args: cobra.ExactArgs(2), ValidArgsFunction: complete,
		Long: "Set changes one setting of a scope, and leaves the others as they are. VALUE is as documents have it; of a list the words may\n" +
			"be separated by commas, and a banner may be its text alone.",
		Example: "  slipway setting set maxTokenLifetime 90d --org ''\n  slipway setting set restrictEmailDomains example.com,example.org --org ''\n  slipway setting set banner 'Down on Sunday from 8 to 9 UTC' --org ''",
		RunE: func(c *cobra.Command, args []string) error {
			value, err := settingValue(setting.Name(args[0]), args[1])
			if err != nil {
				return err
			}
			return changeSetting(c.Context(), a, setting.Name(args[0]), value)
		},
	}, &cobra.Command{
		Use: "unset NAME", Short: "Say nothing of a setting in a scope any more", Args: cobra.ExactArgs(1), ValidArgsFunction: complete,
		RunE: func(c *cobra.Command, args []string) error {
			return changeSetting(c.Context(), a, setting.Name(args[0]), nil)
		},
	})
	return c
}

// showSettings shows the settings as they hold, or one of them.
func showSettings(ctx context.Context, a *app, name setting.Name) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	list, err := apiclient.Settings(ctx, client, scope)
	if err != nil {
		return err
	}
	if name != "" {
		if list = slices.DeleteFunc(list, func(h setting.Holds) bool { return h.Name != name }); len(list) == 0 {
			return noSetting(name)
		}
	}
	return a.shows.print(list, func() error {
		var rows [][]string
		for _, h := range list {
			rows = append(rows, []string{string(h.Name), h.Value, h.From, h.Doc})
		}
		return a.shows.table("SETTING VALUE FROM WHAT", rows)
	})
}

func noSetting(name setting.Name) error {
	var names []string
	for _, one := range setting.All() {
		names = append(names, string(one.Name))
	}
	return fault.New(fault.NotFound, "there is no setting %q; want one of %s", name, strings.Join(names, ", "))
}

// settingValue reads what somebody types for a setting.
func settingValue(name setting.Name, text string) (*yaml.Node, error) {
	switch {
	case name == setting.EmailDomains && !strings.HasPrefix(text, "["):
		list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for one := range strings.SplitSeq(text, ",") {
			list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.TrimSpace(one)})
		}
		return list, nil
	case name == setting.BannerName && !strings.HasPrefix(text, "{"):
		return &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
			{Kind: yaml.ScalarNode, Value: "text"}, {Kind: yaml.ScalarNode, Tag: "!!str", Value: text},
		}}, nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) != 1 {
		return nil, fault.New(fault.Invalid, "the value %q of %s isn't one of YAML", text, name)
	}
	return doc.Content[0], nil
}

// changeSetting sets one setting of a scope, or takes it out. Others may be changed at
// the same time.
func changeSetting(ctx context.Context, a *app, name setting.Name, value *yaml.Node) error {
	if !slices.ContainsFunc(setting.All(), func(s setting.Setting) bool { return s.Name == name }) {
		return noSetting(name)
	}
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	const tries = 5
	for range tries {
		var saved api.SavedEntity
		saved, err = changedSetting(ctx, client, scope, name, value)
		if err == nil {
			return a.shows.showSaved([]api.SavedEntity{saved}, false)
		}
		if !fault.Is(err, fault.StaleVersion) {
			return err
		}
	}
	return err
}

func changedSetting(ctx context.Context, client *apiclient.Client, scope ref.Scope, name setting.Name, value *yaml.Node) (api.SavedEntity, error) {
	was, err := client.Entity(ctx, apiclient.EntityKey{Scope: scope, Kind: ref.Setting, ID: setting.ID})
	switch {
	case fault.Is(err, fault.NotFound):
		was = api.Entity{YAML: fmt.Sprintf("%s:\n  identifier: %s\n  name: Settings\n", ref.Setting, setting.ID)}
	case err != nil:
		return api.SavedEntity{}, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(was.YAML), &doc); err != nil || len(doc.Content) != 1 || len(doc.Content[0].Content) != 2 || doc.Content[0].Content[1].Kind != yaml.MappingNode {
		return api.SavedEntity{}, fault.New(fault.Conflict, "the settings of %s aren't written so that one of them can be changed; edit them: slipway edit setting %s", scope, setting.ID)
	}
	body := doc.Content[0].Content[1]
	put(body, string(name), value)
	text, err := yaml.Marshal(&doc)
	if err != nil {
		return api.SavedEntity{}, fmt.Errorf("write the settings: %w", err)
	}
	return client.Save(ctx, apiclient.Document{Scope: scope, File: "setting " + string(name), YAML: text, Strict: true, Version: &was.Version})
}

// put sets a key of a mapping, or takes it out if there is no value.
func put(body *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(body.Content); i += 2 {
		if body.Content[i].Value != key {
			continue
		}
		if value == nil {
			body.Content = slices.Delete(body.Content, i, i+2)
		} else {
			body.Content[i+1] = value
		}
		return
	}
	if value != nil {
		body.Content = append(body.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
	}
}
