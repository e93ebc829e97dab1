package secret

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/dynamo"
)

// Store fetches secrets from Secrets Manager and Systems Manager, each from the region that its ARN
// names.
type Store struct {
	clients map[place]*awscall.Client
}

type place struct {
	service awscall.Service
	region  string
}

// Bounds of a fetch: it must leave time to store the message, before the sender gives up. GitHub
// waits for ten seconds.
const (
	fetchTimeout  = 2 * time.Second
	fetchAttempts = 2
)

// NewStore returns the Store of these secrets. Where the services are, and who we are there, is
// read from the environment. It makes no request.
func NewStore(all ...Reference) (*Store, error) {
	s := &Store{clients: map[place]*awscall.Client{}}
	transport := dynamo.Transport()
	for _, of := range all {
		at := of.place()
		if s.clients[at] != nil {
			continue
		}
		client, err := awscall.New(at.service, awscall.Options{
			Region: at.region, Transport: transport, Timeout: fetchTimeout,
			Retryer: retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = fetchAttempts }),
		})
		if err != nil {
			return nil, err
		}
		s.clients[at] = client
	}
	return s, nil
}

// Fetch is the value of one of the secrets. The error holds nothing of it.
func (s *Store) Fetch(ctx context.Context, of Reference) (string, error) {
	client := s.clients[of.place()]
	if of.place().service == awscall.SystemsManager {
		return client.Parameter(ctx, of.String())
	}
	return client.Secret(ctx, of.String())
}
