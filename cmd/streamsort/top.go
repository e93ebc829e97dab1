package main

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
)

// topCommand lists the consumers that are farthest behind.
type topCommand struct {
	readFlags
	listFlags
}

// ranked is a consumer, and its document.
type ranked struct {
	listed
	raw json.RawMessage
}

// behind is how many messages the consumer has to get.
func (r ranked) behind() int64 {
	if r.Lag == nil {
		return 0
	}
	return int64(*r.Lag)
}

// Run implements the verb.
func (c *topCommand) Run(s *session) error {
	most, err := c.Limit.orAll(defaultListed)
	if err != nil {
		return err
	}
	query := url.Values{"limit": {"100"}}
	if c.Prefix != "" {
		query.Set("prefix", c.Prefix)
	}
	var all []ranked
	err = s.pages("/consumers", query, "list", func(raw json.RawMessage) error {
		r := ranked{raw: raw}
		err := json.Unmarshal(raw, &r.listed)
		all = append(all, r)
		return err
	})
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.behind(), a.behind()), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Consumer, b.Consumer))
	})
	if most > 0 {
		all = all[:min(len(all), most)]
	}
	l := s.listing(rowHeads...)
	for _, r := range all {
		text, cells := r.row(s.clock)
		if err := l.add(r.raw, text, cells...); err != nil {
			return err
		}
	}
	return l.end("no consumer", err)
}
