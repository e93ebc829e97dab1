package streamsort

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"

	"github.com/streamsort/streamsort/internal/quota"
)

// Quota is what a tenant may take. What is 0 has no bound.
type Quota struct {
	// Name is the tenant's, or "*" for every tenant without an entry of its own.
	Name string `json:"name"`
	// Messages and Bytes are how many may be put in a second, counted in ten seconds:
	// the bytes of bodies and attributes.
	Messages int `json:"messages,omitempty"`
	Bytes    int `json:"bytes,omitempty"`
	// NewQueues and NewChains are how many may be made in a minute.
	NewQueues int `json:"newQueues,omitempty"`
	NewChains int `json:"newChains,omitempty"`
}

// readQuotas is p.Quotas, or what p.QuotasFile holds in its place.
func (p Props) readQuotas() ([]Quota, error) {
	if p.QuotasFile == "" {
		return p.Quotas, nil
	}
	if p.Quotas != nil {
		return nil, errors.New("is set beside quotas; write one of them")
	}
	var file struct{ Quotas []Quota }
	err := readFile(p.QuotasFile, &file, func(text []byte) error {
		_, err := quota.Read(text)
		return err
	})
	return file.Quotas, err
}

// quotasFile is what the functions that tenants call are configured by. No quotas make
// no file.
func quotasFile(all []Quota) (map[string]string, error) {
	if len(all) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(struct {
		Quotas []Quota `json:"quotas"`
	}{all})
	if err == nil {
		_, err = quota.Read(text)
	}
	return map[string]string{quota.File: string(text)}, err
}

func (p Props) checkQuotas(c *checker) {
	all, err := p.readQuotas()
	if err != nil {
		c.fail("quotasFile", "%v", err)
	}
	if _, err := quotasFile(all); err != nil {
		c.fail("quotas", "%v", err)
	}
	if len(all) > 0 && !p.hasTenants() {
		c.fail("quotas", "are for tenants, and there are none; write tenantIssuer, tenantAudience and tenantClaim too")
	}
}

// bounded are the programs of functions that quotas bound, each in a folder of its own
// with the quotas beside it; none where there are no quotas.
type bounded struct {
	folders map[string]string
	files   map[string]string
}

func (b bounded) remove() {
	for _, folder := range b.folders {
		_ = os.RemoveAll(folder)
	}
}

// packBounded packs the functions that tenants call.
func (s *Streamsort) packBounded() (b bounded, err error) {
	b = bounded{folders: map[string]string{}}
	if b.files, err = quotasFile(s.props.Quotas); err != nil || b.files == nil {
		return b, err
	}
	for _, name := range []string{"enqueue", "delivery", "ack"} {
		if b.folders[name], err = pack(filepath.Join(s.props.Binaries, name), b.files); err != nil {
			return b, err
		}
	}
	return b, nil
}

// quotasEnvironment is where it is counted what tenants take.
func (s *Streamsort) quotasEnvironment() map[string]string {
	if s.QuotasTable == nil {
		return nil
	}
	return map[string]string{"STREAMSORT_QUOTAS_TABLE": *s.QuotasTable.TableName()}
}

// countQuotas: count what tenants take.
func (s *Streamsort) countQuotas() []awsiam.PolicyStatement {
	if s.QuotasTable == nil {
		return nil
	}
	return []awsiam.PolicyStatement{allow([]string{"dynamodb:UpdateItem"}, s.QuotasTable.TableArn())}
}
