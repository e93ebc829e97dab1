package client

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/streamsort/streamsort/internal/awschain"
	"github.com/streamsort/streamsort/internal/awsenv"
)

type signer struct {
	awsenv.Settings
	service string
}

// newSigner returns the signer for requests to a URL, with the credentials of AWS's standard chain.
// Where no region is given, it is that of the host's name, or else that of the configuration.
func newSigner(u *url.URL, region string) (*signer, error) {
	if err := private(u, "be signed"); err != nil {
		return nil, err
	}
	s, err := awschain.Read()
	if err != nil {
		return nil, err
	}
	service, named := ofAWS(u.Hostname())
	s.Region = cmp.Or(region, named, s.Region)
	if s.Region == "" {
		return nil, fmt.Errorf("requests to %s must be signed for a region: name it, by AWS_REGION or in the profile", u.Host)
	}
	return &signer{s, cmp.Or(service, "execute-api")}, nil
}

// ofAWS is the service and the region that a host is named by; both are empty where the name is not
// of AWS's own, and the region where it only looks so.
func ofAWS(host string) (service, region string) {
	parts := strings.Split(host, ".")
	if len(parts) < 3 {
		return "", ""
	}
	switch parts[1] {
	case "execute-api":
		service = "execute-api"
	case "lambda-url":
		service = "lambda"
	default:
		return "", ""
	}
	for _, domain := range []string{".amazonaws.com", ".amazonaws.com.cn", ".on.aws"} {
		if strings.HasSuffix(host, domain) {
			return service, parts[2]
		}
	}
	return service, ""
}

// private reports a URL to which anybody on the way could read what says who makes a request.
func private(u *url.URL, would string) error {
	host := u.Hostname()
	own := host == "localhost" || strings.HasSuffix(host, ".localhost") ||
		net.ParseIP(host).IsLoopback()
	if u.Scheme == "http" && !own {
		return fmt.Errorf("requests to %s would %s, and anybody on the way could read and repeat them: use https", u.Host, would)
	}
	return nil
}

func (s *signer) sign(ctx context.Context, request *http.Request, body []byte) error {
	keys, err := s.Credentials.Retrieve(ctx)
	if err != nil {
		return &NoCredentialsError{request.URL.Host, err}
	}
	hash := sha256.Sum256(body)
	return v4.NewSigner().SignHTTP(ctx, keys, request, hex.EncodeToString(hash[:]), s.service,
		s.Region, time.Now())
}

// NoCredentialsError is that of a request that must be signed, where nothing gives credentials.
type NoCredentialsError struct {
	Host string
	Err  error
}

func (e *NoCredentialsError) Error() string {
	return fmt.Sprintf("requests to %s must be signed, and there are no credentials: set AWS_ACCESS_KEY_ID and "+
		"AWS_SECRET_ACCESS_KEY, or AWS_PROFILE (after `aws sso login`, where the profile is of SSO), or run under a role: %v", e.Host, e.Err)
}

func (e *NoCredentialsError) Unwrap() error { return e.Err }
