package main

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/view"
)

type eraseCommand struct {
	Queue  string `arg:"" optional:"" help:"The queue's name."`
	Tenant string `help:"Instead of a queue: all queues of this tenant."`
	Reason string `help:"Why: it is kept in the audit log. Needed with --yes."`
	ID     string `help:"A name for this operation: repeated under the same id it goes on, and prints how far it is. A random one where none is given."`
	Yes    bool   `help:"Erase it. Without, what there is is printed, and nothing is done."`
}

func (c *eraseCommand) Run(s *session) error {
	switch {
	case (c.Queue == "") == (c.Tenant == ""):
		return usageError("either a queue or --tenant must be given")
	case c.Reason == "" && c.Yes:
		return usageError("--reason is missing: with --yes, say why")
	case c.ID != "" && !c.Yes:
		return usageError("--id names an operation, and without --yes nothing is done")
	}
	id := cmp.Or(c.ID, strings.ToLower(rand.Text()))
	query := client.Query("dryRun", strconv.FormatBool(!c.Yes), "queue", c.Queue, "tenant", c.Tenant,
		"reason", c.Reason, "id", id)
	switch {
	case c.Tenant != "":
		return errors.Join(c.eraseTenant(s, query), c.notDone(s))
	case !c.Yes:
		return cmp.Or(c.show(s, query), c.notDone(s))
	}
	var e erasedQueue
	raw, err := s.call(http.MethodDelete, "/queues", query, nil, &e)
	if err != nil {
		return err
	}
	return s.print(raw, "%s, deleted %s\t%s\n", e, e.Deleted, id)
}

func (c *eraseCommand) notDone(s *session) error {
	if c.Yes {
		return nil
	}
	_, err := fmt.Fprintln(s.errOut, "nothing is erased: --yes, with --reason, does it")
	return err
}

type items struct{ Messages, Arrivals int }

func (i items) String() string {
	return fmt.Sprintf("%s and %d of arrivals",
		count(i.Messages, "item of messages", "items of messages"), i.Arrivals)
}

type erasedQueue struct {
	Queue                 printable.Name
	State, Until, Emptied string
	Deleted               items
}

// String is the state in words.
func (e erasedQueue) String() string {
	state := e.State
	switch state {
	case "erasing":
		state += ": the sweep goes on"
	case "settling":
		state += ": nothing is left, and it is looked once more at " + e.Until
	case "erased":
		state += ": empty since " + e.Emptied
	}
	return e.Queue.String() + "\t" + state
}

func (c *eraseCommand) show(s *session, query url.Values) error {
	var there struct {
		Stored    items
		More      bool
		Consumers []view.Head
	}
	raw, err := s.call(http.MethodDelete, "/queues", query, nil, &there)
	if err != nil {
		return err
	}
	atLeast := ""
	if there.More {
		atLeast = "at least "
	}
	text := fmt.Sprintf("%s\t%s%s\n", c.Queue, atLeast, there.Stored)
	for _, it := range there.Consumers {
		text += fmt.Sprintf("%s\tconsumer %s, %s, lag %s\n", c.Queue, it.Consumer,
			it.State, known(it.Lag))
	}
	return s.print(raw, "%s", text)
}

// eraseTenant goes on until all queues were looked at. The error is that there are none: a name
// that is spelt wrong is no tenant's.
func (c *eraseCommand) eraseTenant(s *session, query url.Values) error {
	for queues := 0; ; {
		var page struct {
			Queues    []json.RawMessage
			Endpoints int
			Next      string
		}
		if _, err := s.call(http.MethodDelete, "/queues", query, nil, &page); err != nil {
			return err
		}
		queues += len(page.Queues)
		for _, raw := range page.Queues {
			var e erasedQueue
			if err := json.Unmarshal(raw, &e); err != nil {
				return err
			}
			if err := s.print(raw, "%s\n", e); err != nil {
				return err
			}
		}
		switch {
		case page.Next != "":
			query.Set("after", page.Next)
		case page.Endpoints > 0:
			return s.print(map[string]int{"endpoints": page.Endpoints}, "%s\n",
				count(page.Endpoints, "endpoint", "endpoints"))
		case queues == 0:
			return fmt.Errorf("0 queues of tenant %s", c.Tenant)
		default:
			return nil
		}
	}
}
