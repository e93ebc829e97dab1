package gateway

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/streamsort/streamsort/localstack/lambda"
	"github.com/streamsort/streamsort/localstack/template"
)

// InvokePath is where Lambda's API has its functions.
const InvokePath = "/2015-03-31/functions/"

type invoker struct {
	functions *lambda.Service
	rename    func(name string) string
}

// NewInvoke answers for the Invoke action ("Invoke", AWS Lambda API Reference) under [InvokePath],
// for the SDKs and the CLI with their endpoint set to this server. The function is named by its
// name, ARN or partial ARN, with any version or alias; rename turns the name that a caller gave
// into the function's own.
func NewInvoke(functions *lambda.Service, rename func(string) string) http.Handler {
	mux := http.NewServeMux()
	i := &invoker{functions, rename}
	mux.HandleFunc("POST "+InvokePath+"{name}/invocations", i.invoke)
	mux.HandleFunc(InvokePath, func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "UnknownOperationException",
			"of Lambda's API, only Invoke is answered here")
	})
	return mux
}

func (i *invoker) invoke(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	request := lambda.Request{
		Function:  i.rename(template.FunctionName(name)),
		Qualifier: cmp.Or(r.URL.Query().Get("Qualifier"), template.FunctionQualifier(name)),
	}
	var err error
	if request.Payload, err = io.ReadAll(http.MaxBytesReader(w, r.Body,
		lambda.MaxPayload)); err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			err = lambda.ErrTooLarge
		}
		i.fail(w, err)
		return
	}
	if encoded := r.Header.Get("X-Amz-Client-Context"); encoded != "" {
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || !json.Valid(decoded) {
			refuse(w, http.StatusBadRequest, "InvalidRequestContentException",
				"Client context must be a valid Base64-encoded JSON object.")
			return
		}
		request.ClientContext = string(decoded)
	}
	switch kind := r.Header.Get("X-Amz-Invocation-Type"); kind {
	case "", "RequestResponse":
		i.synchronously(w, r, request)
	case "Event":
		i.done(w, i.functions.InvokeAsync(request), http.StatusAccepted)
	case "DryRun":
		i.done(w, i.functions.Check(request), http.StatusNoContent)
	default:
		refuse(w, http.StatusBadRequest, "InvalidParameterValueException",
			"invocation type "+kind+" is not known")
	}
}

func (i *invoker) synchronously(w http.ResponseWriter, r *http.Request, request lambda.Request) {
	response, err := i.functions.Invoke(r.Context(), request)
	if err != nil {
		i.fail(w, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Amz-Executed-Version", "$LATEST")
	h.Set("X-Amzn-Requestid", response.RequestID)
	if response.FunctionError != "" {
		h.Set("X-Amz-Function-Error", response.FunctionError)
	}
	if r.Header.Get("X-Amz-Log-Type") == "Tail" {
		h.Set("X-Amz-Log-Result", base64.StdEncoding.EncodeToString(response.LogTail))
	}
	_, _ = w.Write(response.Payload)
}

func (i *invoker) done(w http.ResponseWriter, err error, status int) {
	if err != nil {
		i.fail(w, err)
		return
	}
	w.WriteHeader(status)
}

// fail answers with the exceptions of the Invoke action.
func (i *invoker) fail(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, lambda.ErrUnknownFunction):
		refuse(w, http.StatusNotFound, "ResourceNotFoundException", err.Error())
	case errors.Is(err, lambda.ErrTooLarge):
		refuse(w, http.StatusRequestEntityTooLarge, "RequestTooLargeException", err.Error())
	case errors.Is(err, lambda.ErrNotJSON):
		refuse(w, http.StatusBadRequest, "InvalidRequestContentException", err.Error())
	case errors.Is(err, lambda.ErrThrottled):
		refuse(w, http.StatusTooManyRequests, "TooManyRequestsException", err.Error())
	default:
		refuse(w, http.StatusInternalServerError, "ServiceException", err.Error())
	}
}

func refuse(w http.ResponseWriter, status int, exception, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", exception)
	w.WriteHeader(status)
	body, _ := json.Marshal(map[string]string{"Type": "User", "message": message})
	_, _ = w.Write(body)
}
