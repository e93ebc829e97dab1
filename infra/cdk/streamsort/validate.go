package streamsort

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"github.com/streamsort/streamsort/internal/egress"
	paths "github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/xorack"
)

var (
	stackID      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,127}$`)
	tablesPrefix = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,240}$`)
	functionARN  = regexp.MustCompile(
		`^arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_:$-]{1,170}$`)
	topicARN = regexp.MustCompile(`^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}$`)
	busName  = regexp.MustCompile(`^[A-Za-z0-9._/-]{1,256}$`)
)

// validate reports every property that is out of its bounds. All defaults are filled in.
func (p Props) validate(id string) error {
	c := &checker{}
	if !stackID.MatchString(id) {
		c.fail("stack", "is %q; write a letter and then up to 127 letters, digits or '-', such as Streamsort", id)
	}
	if !tablesPrefix.MatchString(p.Tables) {
		c.fail("tables", "is %q; write 1 to 240 letters, digits, '_', '-' or '.'", p.Tables)
	}
	oneOf(c, "removal", p.Removal, Retain, Destroy)
	checkUnits(c, "maxReads", p.MaxReads)
	checkUnits(c, "maxWrites", p.MaxWrites)
	p.checkQueueSettings(c)
	if *p.Retention != 0 &&
		(*p.Retention < cursor.MinRetention || *p.Retention > cursor.MaxRetention) {
		c.fail("retention", "is %s; write a duration from %s to %s, or 0 to keep messages for ever",
			text(*p.Retention), text(cursor.MinRetention), text(cursor.MaxRetention))
	}
	p.checkEvents(c)
	p.checkProcess(c)
	if _, err := processName(p.Tables, p.Consumers); err != nil {
		c.errs = append(c.errs, err)
	}
	p.checkWebhooks(c)
	between(c, "tombstone", p.Tombstone, xorack.MinTombstone, 365*24*time.Hour)
	p.checkSweep(c)
	p.checkFunctionProps(c)
	p.checkVPC(c)
	between(c, "slowShare", p.SlowShare, quota.MinShare, quota.MaxShare)
	between(c, "apiRate", p.APIRate, 1, 10_000)
	p.checkLogs(c)
	oneOf(c, "architecture", p.Architecture, ARM64, AMD64)
	if p.Shift != "" {
		oneOf(c, "shift", p.Shift, shifts...)
	}
	p.checkTenants(c)
	if p.FunctionURL && p.hasTenants() {
		c.fail("functionUrl", "is true, and there are tenants: a function URL knows signatures for IAM and no tokens; "+
			"write false, and have tenants and producers come by the two HTTP APIs")
	}
	p.checkQuotas(c)
	if key := p.EncryptionKey; key != "" && key != NewKey && !keyARN.MatchString(key) {
		c.fail("encryptionKey", "is %q; write new, or the ARN of a key, such as arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab (not an alias)", key)
	}
	return errors.Join(c.errs...)
}

func (p Props) checkEvents(c *checker) {
	if p.Events == "" {
		return
	}
	if _, err := paths.Read([]byte(p.Events), paths.Kind{Request: true}); err != nil {
		c.fail("events", "are %s: the %v; write paths (docs/reference/events.md#paths)", p.Events, err)
	}
}

// mayAsk reports a consumer whose URL process may not ask: it would not start.
func (p Props) mayAsk(c Consumer) error {
	if c.Sink == nil || c.Sink.URL == "" {
		return nil
	}
	allow, err := egress.ParseAllow(p.HTTPAllow)
	deny, denyErr := egress.ParseDeny(p.HTTPDeny)
	u, wrong := egress.ParseURL(c.Sink.URL)
	if err != nil || denyErr != nil || wrong != nil {
		return nil // that is said elsewhere
	}
	if err := (egress.Rules{Ports: c.Sink.Ports, Allow: allow, Deny: deny}).Check(u); err != nil {
		return fmt.Errorf("consumer %q: sink: url: %w; httpAllow has what is not public, and the sink's ports others than 443", c.Name, err)
	}
	return nil
}

func (p Props) checkProcess(c *checker) {
	if _, _, err := consumersFile(p.Consumers); err != nil {
		c.errs = append(c.errs, err)
	}
	if _, err := egress.ParseAllow(p.HTTPAllow); err != nil {
		c.fail("httpAllow", "%v; write prefixes such as 10.1.0.0/16", err)
	}
	if _, err := egress.ParseDeny(p.HTTPDeny); err != nil {
		c.fail("httpDeny", "%v; write prefixes such as 2600:1f18:1::/48", err)
	}
	for _, consumer := range p.Consumers {
		if err := p.mayAsk(consumer); err != nil {
			c.errs = append(c.errs, err)
		}
	}
}

func (p Props) checkSweep(c *checker) {
	between(c, "sweepInterval", p.SweepInterval, time.Minute, time.Hour)
	whole(c, "sweepInterval", p.SweepInterval, time.Minute)
	between(c, "fullSweepEvery", p.FullSweepEvery, p.SweepInterval, p.longestFullSweep())
	between(c, "sweepSegments", p.SweepSegments, 1, 100)
	between(c, "settleWithin", p.SettleWithin, time.Minute, 365*24*time.Hour)
	between(c, "lagAfter", p.LagAfter, time.Minute, 365*24*time.Hour)
	p.checkTopic(c, "announceTopic", *p.AnnounceTopic)
	p.checkTopic(c, "pageTopic", *p.PageTopic)
	if function := *p.AnnounceFunction; function != "" && !*awscdk.Token_IsUnresolved(function) &&
		!functionARN.MatchString(function) {
		c.fail("announceFunction", "is %q; write the ARN of a function, such as arn:aws:lambda:eu-west-1:123456789012:function:people", function)
	}
	if *p.EventBus != "" && !busName.MatchString(*p.EventBus) {
		c.fail("eventBus", "is %q; write the bus's name (not its ARN), 1 to 256 letters, digits, '.', '-', '_' or '/', or an empty text for no bus", *p.EventBus)
	}
}

func (p Props) checkTopic(c *checker, field, topic string) {
	good := topicARN.MatchString(topic) && !strings.HasSuffix(topic, ".fifo")
	if topic != "" && !*awscdk.Token_IsUnresolved(topic) && !good {
		c.fail(field, "is %q; write the ARN of a topic that is not FIFO, such as arn:aws:sns:eu-west-1:123456789012:people", topic)
	}
}

func (p Props) checkVPC(c *checker) {
	for _, list := range []struct{ field, ids, kind, other string }{
		{"vpcSubnets", p.VPC.Subnets, "subnet", p.VPC.SecurityGroups},
		{"vpcSecurityGroups", p.VPC.SecurityGroups, "sg", p.VPC.Subnets},
	} {
		for _, id := range strings.Split(list.ids, ",") {
			if !*awscdk.Token_IsUnresolved(id) && !strings.HasPrefix(id, list.kind+"-") &&
				list.ids+list.other != "" {
				c.fail(list.field, "is %q; write ids such as %s-0a1b2c with commas and no blanks between, "+
					"both vpcSubnets and vpcSecurityGroups", list.ids, list.kind)
				break
			}
		}
	}
}

type checker struct{ errs []error }

func (c *checker) fail(field, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s %s", field, fmt.Sprintf(format, args...)))
}

func between[T cmp.Ordered](c *checker, field string, value, least, most T) {
	if value < least || value > most {
		c.fail(field, "is %s; write a value from %s to %s", text(value), text(least), text(most))
	}
}

func checkUnits(c *checker, field string, units int) {
	if units < 0 || units > mostUnits {
		c.fail(field, "is %d; write a value from 1 to %d, or 0 to leave it to DynamoDB", units, mostUnits)
	}
}

func whole(c *checker, field string, value, unit time.Duration) {
	if value%unit != 0 {
		c.fail(field, "is %s; write a multiple of %s", text(value), text(unit))
	}
}

func oneOf[T comparable](c *checker, field string, value T, known ...T) {
	if !slices.Contains(known, value) {
		c.fail(field, "is %q; write one of %s", fmt.Sprint(value), list(known))
	}
}

func list[T any](values []T) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(values), " ", ", "), "[]")
}

// text is a value as a person writes it: a duration without the "0m0s" that its String ends in.
func text(value any) string {
	d, ok := value.(time.Duration)
	if !ok {
		return fmt.Sprint(value)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
