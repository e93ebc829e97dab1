package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/streamsort/streamsort/internal/dev/cdkcli"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/ministack"
)

// changes are what the second deployment changes: environments and sizes of the functions,
// mappings, and who moves the cursors of new queues.
var changes = []string{"mode=async", "enqueueMemory=1024", "processBatchSize=50", "policy=alert"}

// assembly is the folder of a synthesised stack.
func (t *deployment) assembly(name string) string { return filepath.Join(t.built, name+".out") }

// synth writes the stack's templates: as it is, and changed.
func (t *deployment) synth(ctx context.Context) {
	for name, more := range map[string][]string{"first": nil, "changed": changes} {
		args := []string{"synth", "--quiet", "--app", t.app(), "--output", t.assembly(name)}
		for _, property := range append([]string{
			"architecture=" + runtime.GOARCH, "binaries=" + t.binaries(), "removal=destroy",
			"savedQueries=false", // the server does not know AWS::Logs::QueryDefinition
			"consumersFile=" + filepath.Join(t.Root, "examples", "demo", "consumers.json"),
		}, more...) {
			args = append(args, "-c", "streamsort:"+property)
		}
		check.Must(t.runCDK(ctx, "", args...))
	}
}

// environment is that of a command that talks to the server: this process's, but for what it says
// of AWS.
func (t *deployment) environment(more ...string) []string {
	kept := append(more,
		"CDK_DISABLE_CLI_TELEMETRY=true", "CI=true", "NODE_NO_WARNINGS=1",
		"JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE="+os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE="+os.DevNull,
		"AWS_ENDPOINT_URL="+t.server.Endpoint, "AWS_CA_BUNDLE="+t.server.Certificate,
		"AWS_REGION="+ministack.Region,
		"CDK_DEFAULT_ACCOUNT="+ministack.Account, "CDK_DEFAULT_REGION="+ministack.Region)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "AWS_") && !strings.HasPrefix(variable, "CDK_") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// asRoot is environment with the keys of the account's root.
func (t *deployment) asRoot() []string {
	return t.environment("AWS_ACCESS_KEY_ID="+ministack.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY="+ministack.SecretKey)
}

// runCDK runs the CDK's command as the account's root; no folder is infra/cdk.
func (t *deployment) runCDK(ctx context.Context, folder string, args ...string) error {
	return t.cdk.Run(ctx, cdkcli.Call{Args: args, Env: t.asRoot(), Folder: folder})
}

// refusals shows what a user reads whose account is not ready.
func (t *deployment) refusals(ctx context.Context) {
	for want, env := range map[string][]string{
		"there are no AWS credentials": t.environment(), "this account has not been bootstrapped": t.asRoot(),
	} {
		args := []string{"deploy", "--app", t.assembly("first"), "--require-approval", "never"}
		refused := t.cdk.Run(ctx, cdkcli.Call{Args: args, Env: env})
		if refused == nil || !strings.HasPrefix(refused.Error(), want) {
			check.Must(fmt.Errorf("it said %w, want %q", refused, want))
		}
		t.Print("%v", refused)
	}
}

// bootstrap runs where there is no cdk.json: the command would synthesise the app first.
func (t *deployment) bootstrap(ctx context.Context) {
	folder := filepath.Join(t.built, "empty")
	check.Must(os.Mkdir(folder, 0o700))
	check.Must(t.runCDK(ctx, folder, "bootstrap", "aws://"+ministack.Account+"/"+ministack.Region))
}

// assets is the bucket that cdk bootstrap makes.
const assets = "cdk-hnb659fds-assets-" + ministack.Account + "-" + ministack.Region

// deployReceiver makes the function that process hands batches to, as a user would: its own stack,
// with its code in a bucket.
func (t *deployment) deployReceiver(ctx context.Context) {
	code := check.Get(os.ReadFile(t.receiverZip()))
	t.put(ctx, "/"+assets+"/receiver.zip", code)
	template := check.Get(
		os.ReadFile(filepath.Join(t.Root, "examples", "receiver", "receiver.template.json")))
	if runtime.GOARCH == "amd64" {
		template = []byte(strings.ReplaceAll(string(template), `"arm64"`, `"x86_64"`))
	}
	check.Get(t.server.Deploy(ctx, "Receiver", template, map[string]string{"CodeBucket": assets}))
}

func (t *deployment) deploy(ctx context.Context) {
	t.deployAssembly(ctx, "first")
	t.openDoors(ctx)
}

// deployAssembly runs cdk deploy as a user does, and reads the outputs.
func (t *deployment) deployAssembly(ctx context.Context, name string) {
	t.outputs = t.deployStack(ctx, t.assembly(name), stackName)
}

// deployStack is deployAssembly for the assembly of any app.
func (t *deployment) deployStack(ctx context.Context, assembly, stack string) map[string]string {
	outputs := filepath.Join(t.built, "outputs.json")
	check.Must(t.runCDK(ctx, "", "deploy", "--app", assembly, "--require-approval", "never",
		"--progress", "events", "--outputs-file", outputs))
	var all map[string]map[string]string
	check.Must(json.Unmarshal(check.Get(os.ReadFile(outputs)), &all))
	return all[stack]
}

// versions looks that the alias of a function that was changed is on its second version, which is
// what everything calls.
func (t *deployment) versions(ctx context.Context) {
	name, alias, _ := strings.Cut(t.outputs["EnqueueFunctionName"], ":")
	answer := t.lambda(ctx, http.MethodGet, "/"+name+"/aliases/"+alias, "")
	var on struct{ FunctionVersion string }
	if err := json.Unmarshal(answer, &on); err != nil || on.FunctionVersion != "2" {
		check.Must(fmt.Errorf("after two deployments the alias is %s (%w)", answer, err))
	}
	t.Print("%s:%s is version %s", name, alias, on.FunctionVersion)
}

// diff must find nothing: what is deployed is what the app says.
func (t *deployment) diff(ctx context.Context) {
	check.Must(t.runCDK(ctx, "", "diff", "--fail", "--app", t.assembly("changed")))
	if err := t.runCDK(ctx, "", "diff", "--fail", "--app", t.assembly("first")); err == nil {
		check.Must(errors.New("it finds no difference from the first stack either, so it would find none from any"))
	}
	t.Print("nothing differs from the changed stack, and something from the first")
}

// destroy takes the stack away, and looks for what it left behind.
func (t *deployment) destroy(ctx context.Context) {
	check.Must(t.runCDK(ctx, "", "destroy", "--force", "--app", t.assembly("changed")))
	if tables := t.left(ctx, stackName+"-"); len(tables) > 0 {
		check.Must(fmt.Errorf("tables %v are left", tables))
	}
	t.Print("no table and no function is left (removal=destroy; by default tables and logs stay)")
}

// left returns the tables that are there. It is an error if there is a function whose name begins
// so.
func (t *deployment) left(ctx context.Context, name string) []string {
	functions := t.lambda(ctx, http.MethodGet, "", "")
	if bytes.Contains(functions, []byte(`"`+name)) {
		check.Must(fmt.Errorf("there are functions %s", functions))
	}
	var tables struct{ TableNames []string }
	check.Must(t.server.JSON(ctx, "dynamodb", "DynamoDB_20120810.ListTables", struct{}{}, &tables))
	return tables.TableNames
}

// lambda calls Lambda's own API of functions.
func (t *deployment) lambda(ctx context.Context, method, path, body string) []byte {
	return check.Get(
		t.server.Request(ctx, "lambda", method, "/2015-03-31/functions"+path, []byte(body)))
}

// put puts a file into a bucket, or makes the bucket.
func (t *deployment) put(ctx context.Context, path string, content []byte) {
	check.Get(t.server.Request(ctx, "s3", http.MethodPut, path, content))
}
