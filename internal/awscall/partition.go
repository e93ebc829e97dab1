package awscall

import "strings"

// Partition is the part of AWS that a region is in, as ARNs name it, and what the names of its
// hosts end with.
func Partition(region string) (name, domain string) {
	for _, p := range []struct{ prefix, name, domain string }{
		{"cn-", "aws-cn", "amazonaws.com.cn"},
		{"us-gov-", "aws-us-gov", "amazonaws.com"},
		{"eusc-", "aws-eusc", "amazonaws.eu"},
		{"us-iso-", "aws-iso", "c2s.ic.gov"},
		{"us-isob-", "aws-iso-b", "sc2s.sgov.gov"},
		{"us-isof-", "aws-iso-f", "csp.hci.ic.gov"},
		{"eu-isoe-", "aws-iso-e", "cloud.adc-e.uk"},
	} {
		if strings.HasPrefix(region, p.prefix) {
			return p.name, p.domain
		}
	}
	return "aws", "amazonaws.com"
}
