package api_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/api"
)

func TestFeed(t *testing.T) {
	t.Parallel()
	f := api.NewFeed()
	one, stopOne := f.Follow("x")
	two, stopTwo := f.Follow("x")
	other, _ := f.Follow("y")
	f.Changed("x")
	f.Changed("x") // waits for nobody
	<-one
	<-two
	select {
	case <-one:
		t.Error("two changes before the first look are two signals; want one")
	case <-other:
		t.Error("a change of x was told to who follows y")
	default:
	}
	stopOne()
	f.Changed("x")
	<-two
	select {
	case <-one:
		t.Error("who has stopped is told")
	default:
	}
	f.Close()
	stopTwo() // harmless after the end
	for name, c := range map[string]<-chan struct{}{"two": two, "other": other} {
		if _, open := <-c; open {
			t.Errorf("%s is open after the end", name)
		}
	}
	late, stop := f.Follow("x")
	if _, open := <-late; open {
		t.Error("who comes after the end isn't told so")
	}
	stop()
}
