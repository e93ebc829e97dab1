package xray

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func TestHeadersOfXRay(t *testing.T) {
	for header, parent := range map[string]string{
		"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1": "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01",
		"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0": "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-00",
	} {
		check.Is(t, Trace(header), cursor.Trace{Parent: parent}, header)
		check.Is(t, Header(cursor.Trace{Parent: parent, State: "a=1"}), header)
	}
	more := Trace(" Self=1-67891234-12456789abcdef012345678; Parent=53995c3f42cd8ad8; Root=1-5759e988-bd862e3fe1be46a994272793;Lineage=1:a:0")
	check.Is(t, more.Parent, "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-00")
	for _, header := range []string{
		"", ";", "Root=1-5759e988-bd862e3fe1be46a994272793", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=x;Sampled=1",
		"Root=2-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8", "Root=1-5759e98-8bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8",
		"Root=1-5759e988bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8", "Root=1-00000000-000000000000000000000000;Parent=53995c3f42cd8ad8",
	} {
		check.Is(t, Trace(header), cursor.Trace{}, header)
	}
	check.Is(t, Header(cursor.Trace{}), "")
}
