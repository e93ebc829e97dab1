package eventsource

import (
	"strconv"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// numbered makes records with these sequence numbers, as dynoxide counts them.
func numbered(first, last int) (records []*record) {
	for n := first; n <= last; n++ {
		records = append(records, &record{sequence: strconv.Itoa(n), json: []byte("{}")})
	}
	return records
}

func TestFirstFailed(t *testing.T) {
	records := numbered(8, 11)
	tests := []struct {
		name, response string
		want           int
		wantErr        string
	}{
		{name: "no response", response: ``, want: 4},
		{name: "blanks", response: " \n", want: 4},
		{name: "null response", response: `null`, want: 4},
		{name: "empty response", response: `{}`, want: 4},
		{name: "empty string", response: `""`, want: 4},
		{name: "empty list at the top", response: `[]`, want: 4},
		{name: "null list", response: `{"batchItemFailures": null}`, want: 4},
		{name: "other letters", response: `{"BatchItemFailures": [{"itemIdentifier": "9"}]}`, want: 4},

		{name: "first", response: `{"batchItemFailures": [{"itemIdentifier": "8"}]}`, want: 0},
		{name: "last", response: ` {"batchItemFailures": [{"itemIdentifier": "11"}]} `, want: 3},
		{name: "lowest by value, not by text", response: `{"batchItemFailures": [{"itemIdentifier": "10"}, {"itemIdentifier": "9"}, {"itemIdentifier": "11"}]}`, want: 1},

		{name: "empty identifier", response: `{"batchItemFailures": [{"itemIdentifier": ""}]}`, wantErr: "[0]: itemIdentifier must be a string"},
		{name: "null identifier", response: `{"batchItemFailures": [{"itemIdentifier": null}]}`, wantErr: "[0]: itemIdentifier must be a string"},
		{name: "key in other letters", response: `{"batchItemFailures": [{"ItemIdentifier": "9"}]}`, wantErr: "[0]: itemIdentifier must be a string"},
		{name: "number", response: `{"batchItemFailures": [{"itemIdentifier": 9}]}`, wantErr: "[0]: itemIdentifier must be a string"},
		{name: "unknown", response: `{"batchItemFailures": [{"itemIdentifier": "12"}]}`, wantErr: "not a sequence number of the batch"},
		{name: "same value, other text", response: `{"batchItemFailures": [{"itemIdentifier": "09"}]}`, wantErr: "not a sequence number of the batch"},
		{name: "one of two is bad", response: `{"batchItemFailures": [{"itemIdentifier": "10"}, {"itemIdentifier": ""}]}`, wantErr: "batchItemFailures[1]"},
		{name: "null element", response: `{"batchItemFailures": [null]}`, wantErr: "[0]: itemIdentifier must be a string"},
		{name: "string element", response: `{"batchItemFailures": ["9"]}`, wantErr: "not a list of objects"},
		{name: "a word", response: `"done"`, wantErr: "not an object"},
		{name: "cut off", response: `{"batchItemFailures": [`, wantErr: "not an object"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := firstFailed([]byte(test.response), records)
			if test.wantErr == "" && err != nil ||
				test.wantErr != "" && (err == nil || !strings.Contains(err.Error(), test.wantErr)) {
				t.Fatalf("error = %v, want %q", err, test.wantErr)
			}
			check.Is(t, got, test.want)
		})
	}
}

func TestCheckSequence(t *testing.T) {
	for s, want := range map[string]string{
		"1": "", "000000000000000000001": "", strings.Repeat("9", 40): "",
		"": "0 digits", strings.Repeat("9", 41): "41 digits", "1e3": "not a decimal", "-1": "not a decimal", "١": "not a decimal",
	} {
		err := checkSequence(s)
		if want == "" && err != nil ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("checkSequence(%q) = %v, want %q", s, err, want)
		}
	}
}
