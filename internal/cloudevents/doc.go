// Package cloudevents is CloudEvents 1.0 as messages and back: an [Event] is read from JSON
// ([ReadJSON]) or from the headers and the body of a request ([ReadBinary]), put as a message
// ([Event.Message]), made of a message again ([Of]) and written as JSON ([Event.JSON]).
//
// # How an event is a message
//
// The message's body is the event's data, byte for byte, and its content type what datacontenttype
// says: who wants the data alone has it as that of any other message. The event's attributes are
// the message's, with "ce-" in front as HTTP has them; those that are no texts are named in the
// attribute [kinds]. traceparent and tracestate are the message's trace.
//
// So an event is restored with the same attributes, of the same types, and the same bytes of data.
// A message that came as no event is made one: see [Of].
//
// The rules are those of https://github.com/cloudevents/spec/tree/v1.0.2/cloudevents: spec.md,
// formats/json-format.md and bindings/http-protocol-binding.md.
package cloudevents
