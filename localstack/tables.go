package localstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
)

// startServer starts the DynamoDB server, or finds the one that runs.
func startServer(ctx context.Context, config Config) (*localdb.Server, error) {
	kind, atURL := localdb.Kind(config.Server), strings.Contains(config.Server, "://")
	if atURL {
		kind = localdb.Given
	}
	kind = cmp.Or(kind, localdb.Choose())
	switch {
	case kind == localdb.Given && config.Data != "":
		return nil, errors.New("config.Data: a server that others run keeps its data itself")
	case atURL:
		return &localdb.Server{Kind: kind, Endpoint: config.Server}, nil
	}
	if err := localdb.Install(ctx, kind, func(what string) { config.Logger.Info(what) }); err != nil {
		return nil, err
	}
	config.Logger.Info("DynamoDB is " + localdb.Described(kind))
	return localdb.Start(ctx, kind, config.Data)
}

// makeTables makes all tables and returns the ARNs of their streams by the tables' names. A table
// that is there already is used if it has the same keys and stream.
func makeTables(ctx context.Context, client *dynamodb.Client,
	all []*loaded) (map[string]string, error) {
	streams := map[string]string{}
	for _, l := range all {
		for _, t := range l.Tables {
			if err := table.Create(ctx, client, t.Definition); err != nil {
				return nil, err
			}
			out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name})
			if err != nil {
				return nil, fmt.Errorf("describe table %s: %w", t.Name, dynamo.Translate(ctx, err))
			}
			streams[t.Name] = aws.ToString(out.Table.LatestStreamArn)
		}
	}
	return streams, nil
}

// lockData makes the folder of the data, where one is wanted, and takes it: two servers on the same
// files destroy them. The lock goes with the process.
func lockData(config *Config) (*os.File, error) {
	if config.Data == "" {
		return nil, nil
	}
	var err error
	if config.Data, err = filepath.Abs(config.Data); err != nil {
		return nil, err
	}
	lock, err := lockFolder(config.Data, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("the data folder %s is in use by another local stack: end that one, or name another folder",
			config.Data)
	}
	if err != nil {
		err = fmt.Errorf("the data folder must be one that can be created: %w", err)
	}
	return lock, err
}

// lockFolder makes a folder and takes it, until the file is closed.
func lockFolder(folder string, how int) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(folder, ".lock"), os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), how); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
}
