package harnessapproval

import (
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// input is a value that approvers are asked for, with at most one validator.
type input struct {
	Name     yamldoc.Field[string]
	Default  yamldoc.Field[string]
	Required yamldoc.Field[bool]
	Allowed  []string // allowedValues, selectOneFrom or selectManyFrom
	Multiple bool     // selectManyFrom
	Regex    yamldoc.Field[string]
}

func (x input) ask() plan.ApprovalInput {
	return plan.ApprovalInput{
		Name: x.Name.Value, Default: step.Text(x.Default), Required: x.Required.Value,
		Allowed: x.Allowed, Multiple: x.Multiple, Regex: step.Text(x.Regex),
	}
}

func decodeInputs(v yamldoc.Value, d *document.Decoder) []input {
	var list []input
	var names []string
	for item := range d.Items(v) {
		x := decodeInput(item, d)
		if name := x.Name.Value; name != "" && slices.Contains(names, name) {
			d.Errorf(item, "DUPLICATE_NAME", "input %q stands twice", name)
		}
		names = append(names, x.Name.Value)
		list = append(list, x)
	}
	return list
}

func decodeInput(item yamldoc.Value, d *document.Decoder) input {
	var x input
	var validators []string
	d.Fields(item, document.Keys{
		"name": func(e yamldoc.Value) {
			if x.Name = d.String(e); step.Text(x.Name) == plan.SecretKey { // its value would be read as a reference
				d.Errorf(e, "WRONG_VALUE", "found %q, which no input may be called", plan.SecretKey)
			}
		},
		"defaultValue": d.Text(&x.Default),
		"required":     d.Flag(&x.Required),
		"allowedValues": func(e yamldoc.Value) {
			if x.Allowed = step.Texts(e, d); len(x.Allowed) > 0 {
				validators = append(validators, e.Key)
			}
			x.Multiple = e.Key == "selectManyFrom"
		},
		"selectOneFrom": func(e yamldoc.Value) {
			if x.Allowed = step.Texts(e, d); len(x.Allowed) > 0 {
				validators = append(validators, e.Key)
			}
			x.Multiple = e.Key == "selectManyFrom"
		},
		"selectManyFrom": func(e yamldoc.Value) {
			if x.Allowed = step.Texts(e, d); len(x.Allowed) > 0 {
				validators = append(validators, e.Key)
			}
			x.Multiple = e.Key == "selectManyFrom"
		},
		"regex": func(e yamldoc.Value) {
			if x.Regex = d.String(e); step.Text(x.Regex) != "" {
				validators = append(validators, e.Key)
			}
			if _, err := regexp.Compile(x.Regex.Value); err != nil {
				d.Errorf(e, "WRONG_VALUE", "found a pattern that can't be used: %s", err)
			}
		},
	})
	d.Need(item, "name")
	if len(validators) > 1 {
		d.Errorf(item, "WRONG_VALUE", "found %s; want at most one of them", strings.Join(validators, " and "))
	}
	return x
}
