package main

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/lists"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func (s *service) list(ctx context.Context, c *httpapi.Call) (int, any, error) {
	asked, err := lists.Read(c, lists.Chains)
	if err != nil {
		return 0, nil, err
	}
	if asked.State == lists.Open {
		return s.open(ctx, c, asked)
	}
	return lists.Ended(ctx, c, s.trouble, asked, s.now())
}

type openChain struct {
	Tag   string     `json:"tag"`
	State view.State `json:"state"`
	// Due is when the sweep looks at it.
	Due time.Time `json:"due"`
}

type openChains struct {
	Status int         `json:"status"`
	List   []openChain `json:"list"`
	Next   string      `json:"next,omitempty"`
}

const scanned = 500

// open lists chains that are open, for half of the time that there is. A page ends with a chain
// that it shows: a token has no tag in it that its reader must not see.
func (s *service) open(ctx context.Context, c *httpapi.Call,
	asked lists.Selection) (int, any, error) {
	a := openChains{Status: http.StatusOK, List: []openChain{}}
	size, goOn := asked.Limit, margin.Half(ctx)
	if asked.Prefix != "" {
		size = scanned
	}
	place, err := placeOf(asked.Place)
	if err != nil {
		return 0, nil, err
	}
	for more := true; more; {
		var page []xorack.Pending
		if page, more, err = s.acker.Pending(ctx, place, size); err != nil {
			return 0, nil, err
		}
		for i, it := range page {
			place = it
			if !strings.HasPrefix(it.Tag, asked.Prefix) {
				continue
			}
			a.List = append(a.List, openChain{c.Short(it.Tag), lists.Open, it.Due})
			a.Next = asked.Token(it.Tag + " " + strconv.FormatInt(it.Due.UnixMilli(), 10))
			if len(a.List) == asked.Limit && (more || i < len(page)-1) {
				return http.StatusOK, a, nil
			}
		}
		if more && !goOn() {
			if len(a.List) == 0 {
				return 0, nil, invalid.New(invalid.TooLarge, "prefix",
					"begins none of the open chains that there was time for")
			}
			return http.StatusOK, a, nil
		}
	}
	a.Next = ""
	return http.StatusOK, a, nil
}

func placeOf(text string) (xorack.Pending, error) {
	if text == "" {
		return xorack.Pending{}, nil
	}
	space := max(strings.LastIndexByte(text, ' '), 0)
	ms, err := strconv.ParseInt(strings.TrimPrefix(text[space:], " "), 10, 64)
	if err != nil || xorack.ValidateTag(text[:space]) != nil {
		return xorack.Pending{},
			invalid.New(invalid.Malformed, "after", "is not the next of a page of this list")
	}
	return xorack.Pending{Tag: text[:space], Due: time.UnixMilli(ms)}, nil
}
