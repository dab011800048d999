package harnessapproval

import (
	"regexp"
	"slices"
	"strings"

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

func decodeInputs(v yamldoc.Value, r *yamldoc.Report) []input {
	var list []input
	var names []string
	for item := range r.List(v) {
		x := decodeInput(item, r)
		if name := x.Name.Value; name != "" && slices.Contains(names, name) {
			r.Errorf(item, "DUPLICATE_NAME", "input %q stands twice", name)
		}
		names = append(names, x.Name.Value)
		list = append(list, x)
	}
	return list
}

func decodeInput(item yamldoc.Value, r *yamldoc.Report) input {
	var x input
	var validators []string
	for e := range r.Mapping(item) {
		switch e.Key {
		case "name":
			if x.Name = r.String(e); step.Text(x.Name) == plan.SecretKey { // its value would be read as a reference
				r.Errorf(e, "WRONG_VALUE", "found %q, which no input may be called", plan.SecretKey)
			}
		case "defaultValue":
			x.Default = r.String(e)
		case "required":
			x.Required = r.Bool(e)
		case "allowedValues", "selectOneFrom", "selectManyFrom":
			if x.Allowed = step.Texts(e, r); len(x.Allowed) > 0 {
				validators = append(validators, e.Key)
			}
			x.Multiple = e.Key == "selectManyFrom"
		case "regex":
			if x.Regex = r.String(e); step.Text(x.Regex) != "" {
				validators = append(validators, e.Key)
			}
			if _, err := regexp.Compile(x.Regex.Value); err != nil {
				r.Errorf(e, "WRONG_VALUE", "found a pattern that can't be used: %s", err)
			}
		default:
			r.Unknown(e, "name", "defaultValue", "required", "allowedValues", "selectOneFrom", "selectManyFrom", "regex")
		}
	}
	if item.Is(yamldoc.Mapping) {
		r.Missing(item, "name")
	}
	if len(validators) > 1 {
		r.Errorf(item, "WRONG_VALUE", "found %s; want at most one of them", strings.Join(validators, " and "))
	}
	return x
}
