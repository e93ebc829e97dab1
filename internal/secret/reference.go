package secret

import (
	"errors"
	"regexp"
	"strings"

	"github.com/streamsort/streamsort/internal/awscall"
)

// Reference says where a secret is. The zero Reference means no secret.
type Reference struct {
	arn string
}

// A secret's own ARN ends in six characters that Secrets Manager chose: without them a role's
// permission would not fit.
var (
	secretARN    = regexp.MustCompile(`^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]{1,32}:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]{1,512}-[A-Za-z0-9]{6}$`)
	parameterARN = regexp.MustCompile(`^arn:aws[a-z-]*:ssm:[a-z0-9-]{1,32}:[0-9]{12}:parameter/[A-Za-z0-9/_.-]{1,1000}$`)
)

// ParseReference reads the ARN of a secret of Secrets Manager, or of a parameter of Systems
// Manager.
func ParseReference(arn string) (Reference, error) {
	if !secretARN.MatchString(arn) && !parameterARN.MatchString(arn) {
		return Reference{}, errors.New("must be the whole ARN of a secret, such as arn:aws:secretsmanager:eu-west-1:123456789012:secret:NAME-Ab12Cd, or of a parameter, such as arn:aws:ssm:eu-west-1:123456789012:parameter/NAME")
	}
	return Reference{arn}, nil
}

// UnmarshalText implements [encoding.TextUnmarshaler], as [ParseReference].
func (r *Reference) UnmarshalText(arn []byte) (err error) {
	*r, err = ParseReference(string(arn))
	return err
}

// String is the ARN, which is no secret.
func (r Reference) String() string { return r.arn }

// place is where it is: the ARN's third and fourth part say so.
func (r Reference) place() place {
	parts := strings.SplitN(r.arn, ":", 6)
	return place{awscall.Service(parts[2]), parts[3]}
}
