package httpapi

import (
	"context"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// aliasOf is the alias, or the version, by which the function was called; empty where it was called
// without one.
func aliasOf(ctx context.Context) string {
	invoked, ok := lambdacontext.FromContext(ctx)
	if !ok {
		return ""
	}
	// arn:PARTITION:lambda:REGION:ACCOUNT:function:NAME:ALIAS
	parts := strings.Split(invoked.InvokedFunctionArn, ":")
	if len(parts) != 8 {
		return ""
	}
	return parts[7]
}
