package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/awschain"
	"github.com/streamsort/streamsort/internal/awsenv"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// tables is where the tables are, and who we are there, for the verbs that work on the
// tables themselves, without the API.
func (s *session) tables() (awsenv.Settings, error) {
	if s.dynamoDB != "" {
		return awsenv.Read("DYNAMODB", s.dynamoDB)
	}
	found, err := s.service("DYNAMODB")
	if err != nil {
		return found, fmt.Errorf("%w: this verb works on the tables themselves; set AWS_ENDPOINT_URL_DYNAMODB to what "+
			"`streamsort local` prints as \"DynamoDB at\", or, for those on AWS, AWS_REGION (--region), and AWS_ACCESS_KEY_ID "+
			"and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or run under a role", err)
	}
	return found, nil
}

// dynamo is the client of the tables.
func (s *session) dynamo() (*dynamodb.Client, error) {
	where, err := s.tables()
	if err != nil {
		return nil, err
	}
	return dynamo.New(&dynamo.Options{AWS: &where})
}

// queueTables are a stack's tables of queues, for the verbs that work on the tables themselves.
type queueTables struct {
	MessagesTable string `help:"The table of messages; that of the context, or streamsort-messages."`
	CursorsTable  string `help:"The table of cursors; that of the context, or streamsort-cursors."`
	ArrivalsTable string `help:"The table of queues in arrival order, and keyed ones; that of the context, or streamsort-arrivals."`
	QueueKey      string `help:"The partition key of messages and cursors." default:"queue"`
	SeqKey        string `help:"The sort key of messages." default:"seq"`
}

// names are those of the tables and their keys.
func (t *queueTables) names(s *session) cursor.Names {
	return cursor.Names{
		Messages: s.tableName(t.MessagesTable, "Messages"), Cursors: s.tableName(t.CursorsTable, "Cursors"),
		Arrivals: s.tableName(t.ArrivalsTable, "Arrivals"), QueueKey: t.QueueKey, SeqKey: t.SeqKey,
	}
}

// open opens the tables.
func (t *queueTables) open(s *session, options *cursor.Options) (*dynamodb.Client, *cursor.Sorter, error) {
	client, err := s.dynamo()
	if err != nil {
		return nil, nil, err
	}
	store, err := cursor.NewDynamo(client, t.names(s))
	if err != nil {
		return nil, nil, err
	}
	sorter, err := cursor.New(store, options)
	return client, sorter, err
}

// tableName is what a table is called: as a flag says, else as the context has it from the stack's
// outputs, else as a stack of the default name has it.
func (s *session) tableName(flag, table string) string {
	return cmp.Or(flag, s.tableNames[table], "streamsort-"+strings.ToLower(table))
}

// service is where a service is, by its name in the variables of endpoints, and who we are
// there.
func (s *session) service(name string) (awsenv.Settings, error) {
	env, err := awsenv.Read(name, "")
	if err == nil && env.Endpoint != nil && strings.HasPrefix(*env.Endpoint, "http:") {
		return env, nil // a server of one's own, which takes any keys
	}
	found, err := awschain.Read()
	if err != nil {
		return found, err
	}
	found.Endpoint, found.Region = env.Endpoint, cmp.Or(s.region, found.Region)
	if err = errors.New("there is no region"); found.Region != "" {
		_, err = found.Credentials.Retrieve(s.ctx)
	}
	return found, err
}
