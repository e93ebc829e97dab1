package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/streamsort/streamsort/internal/awschain"
	"github.com/streamsort/streamsort/internal/awsenv"
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
