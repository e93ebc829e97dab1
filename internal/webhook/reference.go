package webhook

import (
	"errors"
	"regexp"
	"strings"
)

// Reference says where a secret is. The zero Reference is none.
type Reference struct {
	arn string
}

// A secret's own ARN ends in six characters that Secrets Manager chose: without
// them a role's permission would not fit.
var (
	secretARN    = regexp.MustCompile(`^arn:(aws|aws-cn|aws-us-gov):secretsmanager:[a-z0-9-]{1,32}:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]{1,512}-[A-Za-z0-9]{6}$`)
	parameterARN = regexp.MustCompile(`^arn:(aws|aws-cn|aws-us-gov):ssm:[a-z0-9-]{1,32}:[0-9]{12}:parameter/[A-Za-z0-9/_.-]{1,1000}$`)
)

// ParseReference reads the ARN of a secret of Secrets Manager, or of a parameter
// of Systems Manager.
func ParseReference(arn string) (Reference, error) {
	if !secretARN.MatchString(arn) && !parameterARN.MatchString(arn) {
		return Reference{}, errors.New("must be the whole ARN of a secret, such as arn:aws:secretsmanager:eu-west-1:123456789012:secret:NAME-Ab12Cd, or of a parameter, such as arn:aws:ssm:eu-west-1:123456789012:parameter/NAME")
	}
	return Reference{arn}, nil
}

// String is the ARN, which is no secret.
func (r Reference) String() string { return r.arn }

// IsParameter tells that it is a parameter of Systems Manager.
func (r Reference) IsParameter() bool { return r.service() == "ssm" }

func (r Reference) part(i int) string { return strings.SplitN(r.arn, ":", 6)[i] }

func (r Reference) service() string { return r.part(2) }
func (r Reference) region() string  { return r.part(3) }

// host is where the service answers.
func (r Reference) host() string {
	domain := "amazonaws.com"
	if r.part(1) == "aws-cn" {
		domain = "amazonaws.com.cn"
	}
	return r.service() + "." + r.region() + "." + domain
}
