package streamsort

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	paths "github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/webhook"
)

// Webhook is a sender that signs its requests, and what becomes of them.
type Webhook struct {
	// Name is the last part of the path that it sends to, POST /webhooks/<name>: 1 to 64 of a-z,
	// A-Z, 0-9, '.', '-' and '_'.
	Name string `json:"name"`
	// Preset is a sender: adyen, clerk, github, gitlab, jira, linear, meta, resend, sendgrid,
	// shopify, slack, standard (Standard Webhooks) or stripe. It gives whatever is empty here;
	// empty: Signature says how the sender signs.
	Preset string `json:"preset,omitempty"`
	// Order is arrival, where the preset's key is not wanted.
	Order string `json:"order,omitempty"`
	// Secret is the whole ARN of a secret of Secrets Manager, or of a parameter of Systems Manager.
	// It may be one that is known after the deployment only. Its value is one secret, or a JSON
	// list of those that are valid at a time.
	Secret *string `json:"secret"`
	// SecretKey is the ARN of the customer-managed key that the secret is encrypted with; nil where
	// it is AWS's own.
	SecretKey *string `json:"secretKey,omitempty"`
	// Tolerance is how old a signed timestamp may be, or how far ahead, as 90s or 5m: 10s to 1h;
	// 5m. It is for signatures with a timestamp.
	Tolerance string `json:"tolerance,omitempty"`
	// Challenge is what the sender asks before it sends: slack, cloudevents or hub; empty: nothing.
	Challenge string `json:"challenge,omitempty"`
	// VerifyToken is the ARN of a secret as Secret: the token that a sender shows with the
	// challenge hub.
	VerifyToken *string `json:"verifyToken,omitempty"`
	// Signature is how a sender without a preset signs.
	Signature *WebhookSignature `json:"signature,omitempty"`
	// Queue is the path of the queue's name (docs/reference/events.md#paths), or that name in
	// quotes; the webhook's name. Before what it finds stands Prefix, so that a sender can name no
	// queue but its own; nil means the webhook's name and "/".
	Queue  string  `json:"queue,omitempty"`
	Prefix *string `json:"prefix,omitempty"`
	// Seq is the path of the seq, and First where a queue starts: a seq, or here, at its first
	// message; empty means 1. Key are the paths of the parts of the key, and KeyType their type;
	// without both a queue is in arrival order. Prev is the path of the id of the message before.
	Seq     string `json:"seq,omitempty"`
	First   string `json:"first,omitempty"`
	Key     string `json:"key,omitempty"`
	KeyType string `json:"keyType,omitempty"`
	Prev    string `json:"prev,omitempty"`
	// ID is the path of the sender's own name for the delivery.
	ID string `json:"id,omitempty"`
	// Each is a list in the request, of which each element is a message; Body is the path of what
	// becomes the body. Attributes are paths of the message's attributes, 10 at most.
	Each       string            `json:"each,omitempty"`
	Body       string            `json:"body,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	// MaxBody is how many bytes a body has at most: 1 to 358,400; 358,400.
	MaxBody int `json:"maxBody,omitempty"`
}

// WebhookSignature is how a sender signs.
type WebhookSignature struct {
	// Header has the signature, behind Prefix.
	Header string `json:"header"`
	Prefix string `json:"prefix,omitempty"`
	// Encoding is hex, base64, or token, where the header is the secret itself; hex.
	Encoding string `json:"encoding,omitempty"`
	// KeyEncoding is how the secret is written: text, base64 or hex; text.
	KeyEncoding string `json:"keyEncoding,omitempty"`
	// IDHeader has the request's id; empty: none.
	IDHeader string `json:"idHeader,omitempty"`
	// TimestampHeader has the timestamp, in seconds since 1970; empty: none.
	TimestampHeader string `json:"timestampHeader,omitempty"`
	// Template is what is signed, with {body}, {timestamp} and {id} in it; {body}.
	Template string `json:"template,omitempty"`
}

// readWebhooks is p.Webhooks, or what p.WebhooksFile holds in its place.
func (p Props) readWebhooks() ([]Webhook, error) {
	if p.WebhooksFile == "" {
		return p.Webhooks, nil
	}
	if p.Webhooks != nil {
		return nil, errors.New("is set beside webhooks; write one of them")
	}
	var file struct{ Sources []Webhook }
	err := readFile(p.WebhooksFile, &file, func(text []byte) error {
		_, err := webhook.Read(text, hidden{}.look)
		return err
	})
	return file.Sources, err
}

// webhooksFile is what webhook is configured by: the file's text, and the variables that hold the
// ARNs which are known after the deployment only. No webhooks make no file. sources are what the
// function reads in it.
func webhooksFile(all []Webhook) (text string, variables map[string]string,
	sources []webhook.Source, err error) {
	if len(all) == 0 {
		return "", nil, nil, nil
	}
	arns := newHidden()
	const example = "arn:aws:ssm:us-east-1:000000000000:parameter/s"
	file := make([]Webhook, len(all))
	for i, w := range all {
		w.Secret = arns.hide(cmp.Or(w.Secret, jsii.String("")), webhook.Variable(i), example)
		w.VerifyToken = arns.hide(w.VerifyToken, webhook.TokenVariable(i), example)
		if w.SecretKey != nil && *awscdk.Token_IsUnresolved(*w.SecretKey) {
			w.SecretKey = nil // the function has no use for it
		}
		file[i] = w
	}
	raw, err := strictjson.Marshal(struct {
		Sources []Webhook `json:"sources"`
	}{file})
	if err != nil {
		return "", nil, nil, err
	}
	sources, err = webhook.Read(raw, arns.look)
	return string(raw), arns.variables, sources, err
}

// addWebhook makes webhook, where there are senders for it. It is a function of its own, so that
// enqueue stays small and holds no secrets.
func (s *Streamsort) addWebhook() error {
	p := s.props
	if len(p.Webhooks) == 0 {
		return nil
	}
	text, environment, sources, err := webhooksFile(p.Webhooks)
	if err != nil {
		return err
	}
	s.senders = sources
	s.WebhookFunction = s.newFunction(function{
		name: "webhook", id: "Webhook", description: "Takes messages under their senders' signatures",
		takes:       p.Functions["webhook"],
		environment: environment,
		access:      s.webhookAccess(sources),
		files:       map[string]string{webhook.File: text}, quotas: true,
	})
	return nil
}

// storeIn allows to store messages in the queues that mappings can name. What says its seq is
// compared with what is there.
func (s *Streamsort) storeIn(seqs bool, reach ...*paths.Mapping) []awsiam.PolicyStatement {
	var statements []awsiam.PolicyStatement
	messages, arrivals := []string{"PutItem", "Query"}, []string{"PutItem", "UpdateItem"}
	if seqs {
		messages, arrivals = append(messages, "GetItem"), append(arrivals, "BatchGetItem")
	}
	own := ownQueues(reach...)
	for _, operator := range slices.Sorted(maps.Keys(own)) {
		for _, statement := range []awsiam.PolicyStatement{
			on(s.MessagesTable, messages...),
			on(s.ArrivalsTable, arrivals...),
			s.moveCursors(),
		} {
			statement.AddCondition(&operator, map[string]any{"dynamodb:LeadingKeys": own[operator]})
			statements = append(statements, statement)
		}
	}
	return statements
}

// webhookAccess: what enqueue does to store a message, in the queues of the sources alone; and the
// sources' secrets, each by its own ARN. In arrival order it reads where messages have their
// places, and no message but where sources have seqs.
func (s *Streamsort) webhookAccess(sources []webhook.Source) []awsiam.PolicyStatement {
	reach := make([]*paths.Mapping, len(sources))
	for i, w := range sources {
		reach[i] = w.Mapping
	}
	statements := s.storeIn(slices.ContainsFunc(sources, func(w webhook.Source) bool {
		return w.Numbered()
	}), reach...)
	for _, w := range s.props.Webhooks {
		statements = append(statements, readSecret(*w.Secret))
		if w.VerifyToken != nil {
			statements = append(statements, readSecret(*w.VerifyToken))
		}
		if w.SecretKey != nil {
			statements = append(statements, allow([]string{"kms:Decrypt"}, w.SecretKey))
		}
	}
	return statements
}

func readSecret(arn string) awsiam.PolicyStatement {
	action := "secretsmanager:GetSecretValue"
	if strings.Contains(arn, ":ssm:") {
		action = "ssm:GetParameter"
	}
	return allow([]string{action}, &arn)
}

// ownQueues are the queues that sources can name, by the operators of IAM's conditions: those that
// are like one of these texts, and, where a source may name any but tenants', those that are not
// like theirs.
func ownQueues(all ...*paths.Mapping) map[string][]string {
	const like = "ForAllValues:StringLike"
	queues := map[string][]string{}
	for _, w := range all {
		switch {
		case w.Fixed != "":
			queues[like] = append(queues[like], literal.Replace(w.Fixed))
		case w.Prefix == "":
			queues["ForAllValues:StringNotLike"] = []string{"@*"}
		default:
			queues[like] = append(queues[like], literal.Replace(w.Prefix)+"*")
		}
	}
	return queues
}

// literal writes what IAM would read as a wildcard or a variable as itself.
var literal = strings.NewReplacer("*", "${*}", "?", "${?}", "$", "${$}")

// webhookPath begins the path of each sender, before its name.
const webhookPath = "/webhooks/"

// addWebhookRoutes opens the routes that ask for no authorisation of API Gateway's: one for each
// sender, each with a throttle of its own. What strangers send under one name takes neither another
// sender's share nor the other routes', and what they send under no sender's name has no route.
func (s *Streamsort) addWebhookRoutes() {
	target := s.integrate(door{api: s.api}, "ApiWebhookIntegration", s.WebhookFunction)
	throttles := map[string]any{}
	used := map[string]bool{} // methods
	for _, w := range s.senders {
		for _, method := range []string{"POST", w.Challenge.Method()} {
			if method == "" {
				continue
			}
			used[method] = true
			key := method + " " + webhookPath + w.Name
			route := awsapigatewayv2.NewCfnRoute(s.scope,
				jsii.String(idOf(method)+"Webhooks"+idPart(w.Name)+"Route"), &awsapigatewayv2.CfnRouteProps{
					ApiId: s.api.Ref(), RouteKey: &key, AuthorizationType: jsii.String("NONE"), Target: target,
				})
			suppress(route, suppression{
				rule:   "AwsSolutions-APIG4",
				reason: "Senders such as GitHub cannot sign for IAM: the function takes nothing that the sender's own secret has not signed.",
			})
			throttles[key] = map[string]any{"ThrottlingRateLimit": s.props.WebhookRate,
				"ThrottlingBurstLimit": s.props.WebhookRate}
			s.stage.AddResourceDependency(route, nil) // its settings name the route
		}
	}
	s.stage.SetRouteSettings(throttles)
	// One for all of a method: 50 would not fit into the alias's policy.
	for _, method := range slices.Sorted(maps.Keys(used)) {
		s.permit(idOf(method)+"Webhooks", "apigateway", s.WebhookFunction,
			s.routeARN(s.api, method, webhookPath+"*"))
	}
}

// idOf is a method as a part of a logical id: Post.
func idOf(method string) string { return method[:1] + strings.ToLower(method[1:]) }

// idPart is a name as a part of a logical id, which has letters and digits only: two names never
// make the same part.
func idPart(name string) string {
	kept := notInID.ReplaceAllString(name, "")
	if kept == name {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return kept + hex.EncodeToString(sum[:4])
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9]`)

func (p Props) checkWebhooks(c *checker) {
	all, err := p.readWebhooks()
	if err != nil {
		c.fail("webhooksFile", "%v", err)
	}
	if _, _, _, err := webhooksFile(all); err != nil {
		c.fail("webhooks", "%v", err)
	}
	between(c, "webhookRate", p.WebhookRate, 1, 10_000)
}
