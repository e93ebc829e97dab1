package main

import (
	"context"
	"net/http"

	"github.com/streamsort/streamsort/internal/lists"
)

func listQueues(ctx context.Context, c *call) (int, any, error) {
	asked, err := lists.Read(c.Call, lists.Queues)
	if err != nil {
		return 0, nil, err
	}
	if asked.State != "" {
		return lists.InState(ctx, c.Call, c.trouble, asked, c.now(), nil)
	}
	walked, err := lists.Walk(ctx, c.sorter, asked)
	if err != nil {
		return 0, nil, err
	}
	list := []map[string]any{}
	for _, it := range walked.Queues {
		a := c.queueAnswer(it)
		delete(a, "status")
		list = append(list, a)
	}
	a := map[string]any{"status": http.StatusOK, "list": list}
	if walked.Next != "" {
		a["next"] = walked.Next
	}
	return http.StatusOK, a, nil
}
