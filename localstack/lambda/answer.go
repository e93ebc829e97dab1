package lambda

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/localstack/template"
)

// invocation is one request on its way through an environment.
type invocation struct {
	id            string
	arn           string
	payload       []byte
	clientContext string
	trace         string
	deadline      time.Time // set when the runtime gets it
}

func newInvocation(f *function, r Request) *invocation {
	arn := template.FunctionARN(f.Name)
	if r.Qualifier != "" {
		arn += ":" + r.Qualifier
	}
	return &invocation{
		id: template.UUID(rand.Text()), arn: arn, payload: r.Payload, clientContext: r.ClientContext,
		trace: newTrace(),
	}
}

// newTrace is an X-Ray trace header that asks for no sampling.
func newTrace() string {
	var b [20]byte
	_, _ = rand.Read(b[:])
	h := hex.EncodeToString(b[:])
	return fmt.Sprintf("Root=1-%08x-%s;Parent=%s;Sampled=0", time.Now().Unix(), h[:24], h[24:])
}

// answer is what came of an invocation, from the runtime or in its place.
type answer struct {
	payload       []byte
	functionError string
	chaos         bool // chaos has killed the process
}

// failed is the answer in place of a runtime that gave none.
func failed(id, errorType, message string) *answer {
	return &answer{payload: functionError(errorType, "RequestId: "+id+" "+message),
		functionError: "Unhandled"}
}

// timedOut is Lambda's answer for a function that took too long.
func timedOut(id string, after time.Duration) *answer {
	return failed(id, "Sandbox.Timedout",
		fmt.Sprintf("Error: Task timed out after %.2f seconds", after.Seconds()))
}

// exited is Lambda's answer for a runtime that ended while it had work.
func exited(id, state string) *answer {
	if state == "exit status 0" {
		return failed(id, "Runtime.ExitError", "Error: Runtime exited without providing a reason")
	}
	return failed(id, "Runtime.ExitError", "Error: Runtime exited with error: "+state)
}
