package streamsort

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestHTTPRefuses: no metadata service may be asked, and no URL may be where none is asked.
func TestHTTPRefuses(t *testing.T) {
	to := func(url string) []Consumer {
		return []Consumer{{Name: "inner", Sink: &Sink{Kind: "http", HTTP: HTTP{URL: url}}}}
	}
	for want, props := range map[string]Props{
		"httpAllow has 169.254.169.254/32": {HTTPAllow: "169.254.169.254/32"},
		"httpDeny has \"2600:1f18:1::5\"":  {HTTPDeny: "2600:1f18:1::5"},
		"not a public one":                 {HTTPDeny: "2600:1f18:1::/48", Consumers: to("https://[2600:1f18:1::5]/")},
		`"inner": sink: url`:               {Consumers: to("https://10.1.2.3/")},
		"port 80":                          {Consumers: to("http://example.com/")},
		"the ports [443] are allowed":      {Consumers: to("https://example.com:8443/")},
	} {
		err := props.withDefaults("Orders").validate("Orders")
		check.That(t, err != nil && strings.Contains(err.Error(), want), "%v; want %s", err, want)
	}
}
