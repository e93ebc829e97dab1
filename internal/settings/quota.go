package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/quota"
)

// NewQuotas makes the Keeper of the tenants' quotas: of quotas.json, which lies beside
// the function's program, on the table STREAMSORT_QUOTAS_TABLE. It is nil where that is
// not set, and makes no request.
func NewQuotas(client *dynamodb.Client) (*quota.Keeper, error) {
	table := os.Getenv("STREAMSORT_QUOTAS_TABLE")
	if table == "" {
		return nil, nil
	}
	path := filepath.Join(os.Getenv("LAMBDA_TASK_ROOT"), quota.File)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all, err := quota.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return quota.NewKeeper(quota.NewDynamo(client, quota.Names{Quotas: table}), all, time.Now), nil
}
