package strictjson

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Marshal is json.Marshal without the escapes for HTML, which would change the bodies of messages.
func Marshal(document any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(document)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// IsJSON reports whether a content type is JSON's.
func IsJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "application/json" || strings.HasSuffix(media, "+json")
}
