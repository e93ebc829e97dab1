package main

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/webhook"
	"github.com/streamsort/streamsort/pkg/invalid"
)

func (s *service) challenge(ctx context.Context, c *httpapi.Call,
	source *webhook.Source) (int, any, error) {
	if source.Challenge == webhook.ChallengeCloudEvents {
		answer, err := webhook.CloudEvents(&c.Request)
		return http.StatusOK, answer, err
	}
	token, answer, err := webhook.Hub(&c.Request)
	if err != nil {
		return 0, nil, err
	}
	shown, err := s.secrets.Try(ctx, source.VerifyToken, func(values [][]byte) (bool, error) {
		return webhook.Shown(token, values), nil
	})
	switch {
	case err != nil:
		slog.ErrorContext(ctx, "the secrets cannot be had", "source", source.Name, "error", err)
		return 0, nil, unknown()
	case !shown:
		return 0, nil, s.refuse(ctx, c, source, webhook.Mismatch)
	}
	return http.StatusOK, answer, nil
}

// startTime is how long the function may take for the secrets when it starts.
const startTime = 5 * time.Second

// checkSecrets fetches all secrets when the function starts, and logs each that cannot be had, or
// that its scheme cannot use: deliveries of its sender are answered 503, and no other's.
func (s *service) checkSecrets() {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	names, errs := s.secretErrors(ctx)
	for i, err := range errs {
		if err != nil {
			slog.Error("the secrets cannot be had", "source", names[i], "error", err)
		}
	}
}

// secretErrors are what is wrong with the secrets of each source; nil where nothing is.
func (s *service) secretErrors(ctx context.Context) (names []string, errs []error) {
	names = slices.Sorted(maps.Keys(s.sources))
	errs = make([]error, len(names))
	fanout.SideBySide(len(names), func(i int) {
		source := s.sources[names[i]]
		_, err := s.secrets.Try(ctx, source.Secret, func(values [][]byte) (bool, error) {
			return true, source.Signature.CheckSecrets(values)
		})
		if err == nil && source.VerifyToken != (secret.Reference{}) {
			_, err = s.secrets.Values(ctx, source.VerifyToken)
		}
		errs[i] = err
	})
	return names, errs
}

type secretState struct {
	Source string `json:"source"`
	// Problem is what is wrong with its secrets; empty where nothing is.
	Problem string `json:"problem,omitempty"`
}

// direct answers {"operation": "secrets"}, by which `streamsort doctor` looks: whether the secrets
// of each source can be had, and used.
func (s *service) direct(ctx context.Context, c *httpapi.Call) (int, any, error) {
	name := c.Operation
	if members, err := strictjson.Members(c.Body); err == nil && name == "" {
		name, _ = strictjson.Text(strictjson.Get(members, "operation"))
	}
	if name != "secrets" {
		return 0, nil, invalid.New(invalid.Misplaced, "event",
			`is a direct invoke: signed requests come by the HTTP API alone; `+
				`a direct invoke asks {"operation": "secrets"}`)
	}
	names, errs := s.secretErrors(ctx)
	answer := struct {
		Status  int           `json:"status"`
		Sources []secretState `json:"sources"`
	}{Status: http.StatusOK}
	for i, name := range names {
		state := secretState{Source: name}
		if errs[i] != nil {
			state.Problem = errs[i].Error()
		}
		answer.Sources = append(answer.Sources, state)
	}
	return http.StatusOK, answer, nil
}
