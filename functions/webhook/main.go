// Command webhook is the function that takes the requests of senders who sign them with a secret of
// their own instead of for IAM, behind a route of the HTTP API that asks for no authorisation. Its
// senders are described by webhooks.json, which lies beside the program; package webhook of
// internal has its format, and what is promised.
package main

import (
	"os"
	"time"

	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/webhook"
)

func main() { runtime.Main(newHandler) }

func newHandler(d *runtime.Deps) (runtime.Handler, error) {
	sources, err := assetfile.Load(os.Getenv("LAMBDA_TASK_ROOT"), webhook.File, webhook.Read)
	d.Check(err)
	var refs []secret.Reference
	for _, source := range sources {
		refs = append(refs, source.References()...)
	}
	store, err := secret.NewStore(refs...)
	d.Check(err)
	s := &service{sorter: d.Sorter(), quotas: d.Quotas(), sources: byName(sources),
		now: time.Now, log: d.Log}
	if err := d.Err(); err != nil {
		return nil, err
	}
	s.secrets = secret.NewCache(store.Fetch, time.Now)
	s.checkSecrets()
	return runtime.Handle(d, runtime.Headroom, s.api().Handle), nil
}

func byName(all []webhook.Source) map[string]*webhook.Source {
	sources := make(map[string]*webhook.Source, len(all))
	for i := range all {
		sources[all[i].Name] = &all[i]
	}
	return sources
}
