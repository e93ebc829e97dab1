package main

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/streamsort/streamsort/internal/client"
)

// advice says what to do about an error that does not say it itself; empty where nothing better is
// known.
func advice(err error, api string) string {
	var network *net.OpError
	var request *url.Error
	var problem *client.Problem
	switch {
	case errors.As(err, &network) && network.Op == "listen":
		return "is another stack running? End it, or take another port by --port"
	case errors.As(err, &network) && network.Op == "dial":
		if errors.As(err, &request) && !strings.HasPrefix(request.URL, api) {
			return "nothing answers there: is AWS_ENDPOINT_URL_DYNAMODB what `streamsort local` prints as \"DynamoDB at\"?"
		}
		return "nothing answers at " + api + ": `streamsort local` starts a stack here; --url, STREAMSORT_URL or a context says where another is"
	case errors.As(err, &problem) && problem.Code == "":
		return adviceAbout(problem.Status)
	}
	return ""
}

// adviceAbout is what to do about an answer that is not of our functions, but of what stands before
// them.
func adviceAbout(status int) string {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return "--sign signs for IAM at a custom domain, with credentials that may call the API (execute-api:Invoke); --token takes a tenant's token"
	case status == http.StatusNotFound || status >= 300 && status < 400:
		return "is --url the API's own address, the output ApiUrl of the stack, with its stage if it has one?"
	case status == http.StatusTooManyRequests:
		return "the API is at its limit: try again later, or with a lower --concurrency"
	case status >= http.StatusInternalServerError:
		return "try again later; if it stays, the log of the function behind it says more"
	}
	return ""
}
