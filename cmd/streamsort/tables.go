package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/awschain"
	"github.com/streamsort/streamsort/internal/awsenv"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// tables is where the tables are, and who we are there, for the verbs that work on the tables
// themselves, without the API.
func (s *session) tables() (awsenv.Settings, error) {
	if s.DynamoDB != "" {
		return awsenv.Read("DYNAMODB", s.DynamoDB)
	}
	found, err := s.service("DYNAMODB")
	if err != nil {
		return found, fmt.Errorf("%w: this verb works on the tables themselves; set AWS_ENDPOINT_URL_DYNAMODB to what "+
			"`streamsort local` prints as \"DynamoDB at\", or, for those on AWS, AWS_REGION (--region), and AWS_ACCESS_KEY_ID "+
			"and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or run under a role", err)
	}
	return found, nil
}

func (s *session) dynamo() (*dynamodb.Client, error) {
	where, err := s.tables()
	if err != nil {
		return nil, err
	}
	return dynamo.New(&dynamo.Options{AWS: &where})
}

// queueTables are a stack's tables of queues, for the verbs that work on the tables themselves.
type queueTables struct {
	Table map[string]string `help:"What a table is called, NAME=TABLE, where neither the context nor the default streamsort-name has it: Messages, Cursors, Arrivals, Consumers; or a key: QueueKey, SeqKey. May be repeated." placeholder:"NAME=TABLE"`
}

var tableNames = []string{"Messages", "Cursors", "Arrivals", "Consumers", "QueueKey", "SeqKey"}

func (t *queueTables) take(s *session) error {
	all := map[string]string{}
	maps.Copy(all, s.Tables)
	for name, table := range t.Table {
		if !slices.Contains(tableNames, name) {
			return usage("--table is %s=%s: the name must be one of %s", name, table,
				strings.Join(tableNames, ", "))
		}
		all[name] = table
	}
	s.Tables = all
	return nil
}

func (s *session) names() cursor.Names {
	return cursor.Names{
		Messages: s.tableName("Messages"), Cursors: s.tableName("Cursors"),
		Arrivals: s.tableName("Arrivals"),
		QueueKey: cmp.Or(s.Tables["QueueKey"], "queue"), SeqKey: cmp.Or(s.Tables["SeqKey"], "seq"),
	}
}

func (t *queueTables) open(s *session,
	options *cursor.Options) (*dynamodb.Client, *cursor.Sorter, error) {
	if err := t.take(s); err != nil {
		return nil, nil, err
	}
	client, err := s.dynamo()
	if err != nil {
		return nil, nil, err
	}
	store, err := cursor.NewDynamo(client, s.names())
	if err != nil {
		return nil, nil, err
	}
	sorter, err := cursor.New(store, options)
	return client, sorter, err
}

// tableName is what a table is called: as --table says, else as the context has it from the stack's
// outputs, else as a stack of the default name has it.
func (s *session) tableName(table string) string {
	return cmp.Or(s.Tables[table], "streamsort-"+strings.ToLower(table))
}

// service is where a service is, by its name in the variables of endpoints, and who we are there.
func (s *session) service(name string) (awsenv.Settings, error) {
	env, err := awsenv.Read(name, "")
	if err == nil && env.Endpoint != nil && strings.HasPrefix(*env.Endpoint, "http:") {
		return env, nil // a server of one's own, which takes any keys
	}
	found, err := awschain.Read()
	if err != nil {
		return found, err
	}
	found.Endpoint, found.Region = env.Endpoint, cmp.Or(s.Region, found.Region)
	if err = errors.New("there is no region"); found.Region != "" {
		_, err = found.Credentials.Retrieve(s.ctx)
	}
	return found, err
}
