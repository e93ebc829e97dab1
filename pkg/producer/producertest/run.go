package producertest

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

// Drive sends messages in their order with a producer that has the settings of this package to the
// API at a URL, closes it, and returns the outcome of each message: such as advanced, or the status
// of one that was refused.
type Drive func(ctx context.Context, url string, messages []json.RawMessage) ([]string, error)

// Run runs all cases.
func Run(t *testing.T, drive Drive) {
	t.Helper()
	all, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		t.Run(strings.ReplaceAll(c.Name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			for _, wrong := range c.Serve(t.Context(), drive) {
				t.Error(wrong)
			}
		})
	}
}

// Serve runs the case, and returns what was wrong.
func (c Case) Serve(ctx context.Context, drive Drive) []string {
	s := newServer(c)
	api := httptest.NewServer(s)
	defer api.Close()
	defer api.CloseClientConnections()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	outcomes, err := drive(ctx, api.URL, c.messages())
	wrong := s.check(outcomes)
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	return wrong
}
