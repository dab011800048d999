package origin

import "slices"

// Chart is what only a manifest of the type HelmChart has.
type Chart struct {
	Name         string        `json:"name,omitempty"`         // in a repository of charts
	Version      string        `json:"version,omitempty"`      // empty: the newest
	HelmVersion  string        `json:"helmVersion,omitempty"`  // V3, V380 or V4; empty: V3
	SubChartPath string        `json:"subChartPath,omitempty"` // below the chart's folder
	CommandFlags []CommandFlag `json:"commandFlags,omitempty"`
}

// Flags are those of a command.
func (c *Chart) Flags(command string) (HelmFlags, error) {
	if c == nil {
		return ParseHelmFlags(command, nil)
	}
	return ParseHelmFlags(command, FlagsFor(command, c.CommandFlags))
}

// FlagsFor are those of a list that are for a command.
func FlagsFor(command string, list []CommandFlag) []CommandFlag {
	return slices.DeleteFunc(slices.Clone(list), func(f CommandFlag) bool { return f.Command != command })
}

// FlagsNameFiles says whether flags of any command name files, which may be
// anywhere in the chart's repository.
func (c *Chart) FlagsNameFiles() bool { return nameFiles(c.CommandFlags) }

func nameFiles(list []CommandFlag) bool {
	return slices.ContainsFunc(list, func(f CommandFlag) bool {
		flags, err := ParseHelmFlags(f.Command, []CommandFlag{f})
		return err == nil && len(flags.Values)+len(flags.SetFile) > 0
	})
}

// Download are the flags about how the chart is got.
func (c *Chart) Download() (HelmFlags, error) {
	command := HelmPull
	if c != nil && len(FlagsFor(HelmPull, c.CommandFlags)) == 0 {
		command = HelmFetch
	}
	f, err := c.Flags(command)
	if err != nil {
		return f, err
	}
	add, err := c.Flags(HelmAdd)
	f.InsecureTLS, f.PlainHTTP, f.PassEverywhere = f.InsecureTLS || add.InsecureTLS, f.PlainHTTP || add.PlainHTTP, f.PassEverywhere || add.PassEverywhere
	if err != nil {
		return f, err
	}
	update, err := c.Flags(HelmUpdate)
	f.Timeout = update.Timeout
	return f, err
}
