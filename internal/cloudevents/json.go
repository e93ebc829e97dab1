package cloudevents

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/strictjson"
)

// JSON writes the event in the JSON format: its data as it is where that is JSON or a text, else in
// base64, and so where encode, if it is not nil, says of JSON that its reader does not take it.
func (e Event) JSON(encode func(data []byte) bool) ([]byte, error) {
	out := []byte("{")
	member := func(name string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(append(out, '"'), name...), '"', ':'), value...)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
		value := []byte(e.Attributes[name])
		if e.Kinds[name] == "" {
			var err error
			if value, err = strictjson.Marshal(e.Attributes[name]); err != nil {
				return nil, err
			}
		}
		member(name, value)
	}
	if e.Data != nil {
		name, value, err := e.dataMember(encode)
		if err != nil {
			return nil, err
		}
		member(name, value)
	}
	return append(out, '}'), nil
}

// dataMember is the member that has the data, so that who reads it gets the same bytes.
func (e Event) dataMember(encode func([]byte) bool) (name string, value []byte, err error) {
	switch {
	case e.carriesJSON() && utf8.Valid(e.Data) && json.Valid(e.Data) &&
		(encode == nil || !encode(e.Data)):
		return "data", bytes.Trim(e.Data, " \t\r\n"), nil
	case !e.carriesJSON() && utf8.Valid(e.Data) && isText(e.Attributes["datacontenttype"]):
		value, err = strictjson.Marshal(string(e.Data))
		return "data", value, err
	}
	value, err = strictjson.Marshal(base64.StdEncoding.EncodeToString(e.Data))
	return "data_base64", value, err
}

// isText reports whether people read what has a media type.
func isText(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "/xml") ||
		strings.HasSuffix(media, "+xml"))
}
