package streamsort

import "testing"

// changedQuotas is the file of changedProps.
const changedQuotas = `{"quotas": [
  {"name": "*", "messages": 100, "bytes": 1000000, "newQueues": 60, "newChains": 600},
  {"name": "acme", "messages": 5000}
]}
`

// Every function that tenants' requests reach has the quotas beside its program, and
// counts in their table. Without quotas nothing has to do with them.
func TestQuotas(t *testing.T) {
	for _, function := range []string{"Enqueue", "Delivery", "Ack", "Webhook"} {
		resource := changed().Resources[function+"Function"]
		files := resource["Metadata"].(object)["streamsort:files"].(object)
		diff(t, function+": file", changedQuotas, files["quotas.json"])
		variables := resource["Properties"].(object)["Environment"].(object)["Variables"].(object)
		diff(t, function+": table", ref("QuotasTable"), variables["STREAMSORT_QUOTAS_TABLE"])
		if got := allowed(t, changed(), function)["QuotasTable.Arn"]; got != "dynamodb:UpdateItem" {
			t.Errorf("%s may %q", function, got)
		}
	}
	for _, function := range []string{"Enqueue", "Delivery", "Ack"} {
		resource := defaults().Resources[function+"Function"]
		if files := resource["Metadata"].(object)["streamsort:files"]; files != nil {
			t.Errorf("%s has %v", function, files)
		}
	}
	if defaults().Resources["QuotasTable"] != nil {
		t.Error("a table for no quotas")
	}
}
