package main

const (
	webhookFolder = "internal/webhook"
	secretFolder  = "internal/secret"
)

var (
	webhookTests    = test{"./internal/webhook", "Test"}
	webhookHandling = test{"./functions/webhook", "Test"}
)

// webhookMutants are bugs by which somebody who has no secret gets a message in,
// or a holder of one cannot.
var webhookMutants = []mutant{
	{"webhook: any signature will do", webhookFolder, webhookTests, []edit{
		{"signature.go", "if hmac.Equal(sum, signature) {", "if len(signature) == len(sum) {"},
	}},
	{"webhook: the id of Standard Webhooks is not signed", webhookFolder, webhookTests, []edit{
		{"signature.go", "append(text, c.id...)", "append(text, c.timestamp...)"},
	}},
	{"webhook: a secret of Standard Webhooks as it is written", secretFolder, webhookTests, []edit{
		{"encoding.go", "key, must = fromBase64(text), ", "key, must = []byte(text), "},
	}},
	{"webhook: any body with a signature of SendGrid", webhookFolder, webhookTests, []edit{
		{"signature.go", "return ecdsa.VerifyASN1(key, sum[:], signature)", "return ecdsa.VerifyASN1(key, sum[:], signature) || len(signature) > 0"},
	}},
	{"webhook: one item of a notification is signed", webhookFolder, webhookTests, []edit{
		{"presets.go", "if !itemBy(keys, item) {\n\t\t\treturn false\n\t\t}", "if itemBy(keys, item) {\n\t\t\treturn true\n\t\t}"},
	}},
	{"webhook: any event sorts as a push", webhookFolder, webhookTests, []edit{
		{"presets.go", " | pusher & repository.pushed_at", " | repository.pushed_at"},
	}},
	{"webhook: the timestamp in a body is not looked at", webhookFolder, webhookTests, []edit{
		{"signature.go", "why = c.checkStamp(body)", "why = \"\""},
	}},
	{"webhook: a challenge that nobody signed", "functions/webhook", webhookHandling, []edit{
		{"handler.go", "\tif err := s.authenticate(ctx, c, source); err != nil {\n\t\treturn 0, nil, err\n\t}\n", "\tif answer, asked := source.Challenge.Slack(c.Body); asked {\n\t\treturn http.StatusOK, answer, nil\n\t}\n\tif err := s.authenticate(ctx, c, source); err != nil {\n\t\treturn 0, nil, err\n\t}\n"},
	}},
	{"webhook: one version of Standard Webhooks alone", webhookFolder, webhookTests, []edit{
		{"signature.go", "strings.SplitSeq(value, \" \")", "strings.SplitSeq(value, \"|\")"},
	}},
	{"webhook: the first secret only", webhookFolder, webhookTests, []edit{
		{"signature.go", "for _, key := range keys {", "for _, key := range keys[:min(len(keys), 1)] {"},
	}},
	{"webhook: the timestamp is not signed", webhookFolder, webhookTests, []edit{
		{"signature.go", "append(text, c.timestamp...)", "append(text, \"\"...)"},
	}},
	{"webhook: no timestamp is too old", webhookFolder, webhookTests, []edit{
		{"signature.go", ".Abs() > c.tolerance", " < -c.tolerance"},
	}},
	{"webhook: no timestamp is too far ahead", webhookFolder, webhookTests, []edit{
		{"signature.go", ".Abs() > c.tolerance", " > c.tolerance"},
	}},
	{"webhook: base64 with bits behind its end", webhookFolder, webhookTests, []edit{
		{"signature.go", "signature, err = base64.StdEncoding.Strict().DecodeString", "signature, err = base64.StdEncoding.DecodeString"},
	}},
	{"webhook: secrets for ever", secretFolder, webhookTests, []edit{
		{"cache.go", "if !within(now, h.fetched, Lifetime) {", "if h.values == nil {"},
	}},
	{"webhook: secrets go on while the store fails", secretFolder, webhookTests, []edit{
		{"cache.go", "\t\th.values = nil\n\t\tif err := h.refresh(ctx, s.fetch, of, now, failedInterval); err != nil {", "\t\tif err := h.refresh(ctx, s.fetch, of, now, failedInterval); err != nil && h.values == nil {"},
	}},
	{"webhook: a sender names any queue", mappingFolder, test{"./functions/webhook", "TestGitHub"}, []edit{
		{"mapping.go", "m.Prefix = k.Source + \"/\"", "m.Prefix = \"\""},
	}},
	{"webhook: a sender names a tenant's queue", mappingFolder, webhookHandling, []edit{
		{"message.go", "m.source != \"\" && m.Prefix == \"\" && strings.HasPrefix(name, \"@\")", "m.source != \"\" && name == \"@\""},
	}},
	{"webhook: a sender names a part of the tenant", mappingFolder, webhookTests, []edit{
		{"mapping.go", "case t.Prefix != nil && tenant.IsCut(*t.Prefix):", `case t.Prefix != nil && tenant.IsCut(*t.Prefix) && *t.Prefix == "@":`},
	}},
	{"webhook: a timestamp that touches the body", webhookFolder, webhookTests, []edit{
		{"config.go", "if p.is != literal && before.is != literal || ", "if before.is == body && p.is == body || "},
	}},
	{"webhook: the body is looked at first", "functions/webhook", webhookHandling, []edit{
		{"handler.go", "\tif err := s.authenticate(ctx, c, source); err != nil {\n\t\treturn 0, nil, err\n\t}\n", "\tif _, err := source.Messages(&c.Request, s.now()); err != nil {\n\t\treturn 0, nil, err\n\t}\n\tif err := s.authenticate(ctx, c, source); err != nil {\n\t\treturn 0, nil, err\n\t}\n"},
	}},
	{"webhook: accepted where the secrets cannot be had", "functions/webhook", webhookHandling, []edit{
		{"handler.go", "\t\tif err != nil {\n\t\t\tslog.ErrorContext(ctx, \"the secrets cannot be had\", \"source\", source.Name, \"error\", err)", "\t\tif err != nil {\n\t\t\twhy, err = \"\", nil\n\t\t}\n\t\tif err != nil {\n\t\t\tslog.ErrorContext(ctx, \"the secrets cannot be had\", \"source\", source.Name, \"error\", err)"},
	}},
	{"webhook: an unknown sender is answered so", "functions/webhook", webhookHandling, []edit{
		{"handler.go", "c.Metrics.Count(\"WebhooksUnknown\", 1)\n\t\treturn 0, nil, refused()", "c.Metrics.Count(\"WebhooksUnknown\", 1)\n\t\treturn 0, nil, &httpapi.Problem{Status: http.StatusNotFound, Type: \"no-route\", Title: \"No such sender\"}"},
	}},
	{"webhook: a delivery without its id", "internal/intake", webhookHandling, []edit{
		{"intake.go", "\tplace := p.count\n", "\tm.ID += string(m.Body)\n\tplace := p.count\n"},
	}},
}
