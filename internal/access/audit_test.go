package access_test

import (
	"net/netip"
	"testing"

	"github.com/lastseat/lastseat/internal/access"
)

func TestNetworkOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.77": "192.0.2.0/24", "::ffff:192.0.2.77": "192.0.2.0/24", "2001:db8:1:2:3:4:5:6": "2001:db8:1::/48",
		"fe80::1%eth0": "fe80::/48", "": "invalid Prefix", "x": "invalid Prefix",
	} {
		if got := access.NetworkOf(address); got.String() != want || want == "invalid Prefix" && got != (netip.Prefix{}) {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
}
