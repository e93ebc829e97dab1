// Package awschain finds region and credentials wherever AWS's SDKs look for them, for the programs
// that people run: keys of the environment, profiles, SSO, web identity, the roles of ECS, EKS and
// EC2. What runs out is fetched anew. Functions have package awsenv instead, which keeps their
// start short.
package awschain

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/streamsort/streamsort/internal/awsenv"
)

// Read reads the configuration. It makes no request: whether there are credentials is known when
// the first are retrieved. The region is empty where nothing says one.
func Read() (awsenv.Settings, error) {
	found, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		return awsenv.Settings{}, fmt.Errorf("the configuration for AWS: %w", err)
	}
	return awsenv.Settings{Region: found.Region, Credentials: found.Credentials}, nil
}
