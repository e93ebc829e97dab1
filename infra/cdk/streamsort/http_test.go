package streamsort

import (
	"strings"
	"testing"
)

// TestHTTPRefuses: no metadata service may be asked, and no URL may be where none is asked.
func TestHTTPRefuses(t *testing.T) {
	inner := []Consumer{{Name: "inner", Sink: &Sink{Kind: "http", HTTP: HTTP{URL: "https://[2600:1f18:1::5]/"}}}}
	for want, props := range map[string]Props{
		"httpAllow has 169.254.169.254/32": {HTTPAllow: "169.254.169.254/32"},
		"httpDeny has \"2600:1f18:1::5\"":  {HTTPDeny: "2600:1f18:1::5"},
		"not a public one":                 {HTTPDeny: "2600:1f18:1::/48", Consumers: inner},
	} {
		if err := props.withDefaults("Orders").validate("Orders"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// TestForbiddenURL: a URL that process would not start with is refused before anything is made.
func TestForbiddenURL(t *testing.T) {
	_, s, _ := own(t, Props{})
	for url, want := range map[string]string{
		"https://10.1.2.3/":         "an address which is not a public one",
		"http://example.com/":       "port 80",
		"https://example.com:8443/": "the ports [443] are allowed",
	} {
		consumer := Consumer{Name: "hook", Sink: &Sink{Kind: "http", HTTP: HTTP{URL: url}}}
		props := Props{Consumers: []Consumer{consumer}}
		if err := props.withDefaults("Orders").validate("Orders"); err == nil || !strings.Contains(err.Error(), `consumer "hook": sink: url: `) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", url, err, want)
		}
		if err := s.AddSink(consumer); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s added: %v", url, err)
		}
	}
}

const bookARN = "arn:aws:lambda:eu-west-1:123456789012:function:books"
