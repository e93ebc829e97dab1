package main

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"

	"github.com/streamsort/streamsort/internal/jsonseq"
)

// topCommand lists the consumers that are farthest behind.
type topCommand struct {
	readFlags
	listFlags
}

// ranked is a consumer, its document, and how many messages it has to get.
type ranked struct {
	listed
	raw    json.RawMessage
	behind jsonseq.Seq
}

// farthest has those first that are farthest behind, and keeps so many; 0 keeps all.
func farthest(all []ranked, most int) []ranked {
	slices.SortFunc(all, func(a, b ranked) int {
		lag := cmp.Compare(b.behind, a.behind)
		return cmp.Or(lag, cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Consumer, b.Consumer))
	})
	if most == 0 {
		return all
	}
	return all[:min(len(all), most)]
}

func (c *topCommand) Run(s *session) error {
	most, err := c.Limit.orAll(defaultListed)
	if err != nil {
		return err
	}
	var all []ranked
	query := url.Values{"limit": {"100"}, "prefix": {c.Prefix}}
	err = each(s, "/consumers", query, "list", func(it listed, raw json.RawMessage) error {
		r := ranked{listed: it, raw: raw}
		if r.Lag != nil {
			r.behind = *r.Lag
		}
		if all = append(all, r); len(all) == 2*most {
			all = farthest(all, most)
		}
		return nil
	})
	l := s.listing(rowHeads...)
	for _, r := range farthest(all, most) {
		if err := l.add(r.raw, r.row(s.clock)...); err != nil {
			return err
		}
	}
	return l.end("no consumer", err)
}
