package egress

import "testing"

func TestGuard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		address         string
		inside, outside bool // whether it may be reached from one machine and from a function
	}{
		{"93.184.216.34:443", true, true},
		{"10.0.0.7:80", true, true},
		{"127.0.0.1:80", true, false},
		{"[::1]:80", true, false},
		{"0.0.0.0:80", true, false},
		{"[::ffff:127.0.0.1]:80", true, false},
		{"169.254.169.254:80", false, false},
		{"169.254.170.2:80", false, false},
		{"[::ffff:169.254.169.254]:80", false, false},
		{"[fe80::1%eth0]:80", false, false},
		{"[fd00:ec2::254]:80", false, false},
		{"example.com:80", false, false},
	} {
		if got := guard(c.address, true) == nil; got != c.inside {
			t.Errorf("%s from one machine: %v", c.address, got)
		}
		if got := guard(c.address, false) == nil; got != c.outside {
			t.Errorf("%s from a function: %v", c.address, got)
		}
	}
}
