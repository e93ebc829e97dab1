package source

import "encoding/json"

// eventBridgeKind is an event of a bus. Its time has seconds, unless its sender gave more.
//
// https://docs.aws.amazon.com/eventbridge/latest/ref/overiew-event-structure.html
var eventBridgeKind = kind{
	name: "eventbridge", read: reading("eventbridge", readEventBridge),
	fields: []string{"account", "detail", "detailType", "id", "region", "source", "time"},
	body:   "detail", queue: "source", key: "time", keyType: "time", id: "id",
}

func readEventBridge(e struct {
	ID, Source, Account, Region, Time string
	DetailType                        string `json:"detail-type"`
	Detail                            json.RawMessage
}) (parts, error) {
	p := parts{}
	if e.Detail != nil {
		p["detail"] = []byte(e.Detail)
	}
	p.set("id", e.ID)
	p.set("source", e.Source)
	p.set("detailType", e.DetailType)
	p.set("account", e.Account)
	p.set("region", e.Region)
	p.set("time", e.Time)
	return p, nil
}
