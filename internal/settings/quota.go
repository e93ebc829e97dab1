package settings

import (
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/assetfile"
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
	all, err := assetfile.Load(os.Getenv("LAMBDA_TASK_ROOT"), quota.File, func(text []byte, _ func(string) (string, bool)) ([]quota.Quota, error) {
		return quota.Read(text)
	})
	if err != nil {
		return nil, err
	}
	return quota.NewKeeper(quota.NewDynamo(client, quota.Names{Quotas: table}), all, time.Now), nil
}
