package main

type localCommand struct {
	Consumer  []string          `help:"Deliver to NAME=PATH[:HANDLER], a function in Python (app.py:handler), Node (app.mjs:handler) or Go (the folder of its main package), or to NAME=URL. May be repeated." sep:"none" placeholder:"NAME=PATH"`
	Prefix    []string          `help:"Which queues the consumers read, by what their names begin with; NAME=PREFIX is of one consumer. May be repeated." sep:"none"`
	Template  []string          `help:"Synthesised templates (JSON), or patches of them. The project's own one where none is given." type:"existingfile"`
	Parameter map[string]string `help:"Values of the templates' parameters, NAME=VALUE."`
	Env       map[string]string `help:"Variables of the functions, NAME=VALUE or Function.NAME=VALUE."`
	Issuer    map[string]string `help:"Where the keys (a JWKS) of tokens' issuers are, ISSUER=URL, in place of what each says itself."`
	Zips      string            `help:"A folder with the zips of a release: the project's own functions are taken from them, and no Go toolchain is needed for them." type:"existingdir"`
	Server    string            `help:"The DynamoDB server: a URL, given, dynoxide or dynamodb-local."`
	Port      int               `help:"The port of the API." default:"3000"`
	UI        string            `name:"ui" help:"Where the live page of the stack listens; empty for none." default:"127.0.0.1:4001" empty:"none"`
	Watch     bool              `help:"Rebuild and restart a function when its source changes: files .py, .mjs, .js, .cjs and .go, go.mod, go.sum, and what Go embeds."`
	Data      string            `help:"A folder that keeps the tables between runs; what queues, topics and buses hold is not kept." type:"path"`
	Services  bool              `help:"Start MiniStack for other AWS services, such as event buses."`
	Kill      float64           `help:"How likely a request's process is killed, 0 to 1."`
	Duplicate float64           `help:"How likely a delivered batch is delivered again, 0 to below 1."`
}

// Validate implements the check of flags that kong makes.
func (c *localCommand) Validate() error {
	switch {
	case c.Port < 0 || c.Port > 65535:
		return usage("--port must be from 0 to 65535, not %d", c.Port)
	case !(c.Kill >= 0 && c.Kill <= 1):
		return usage("--kill must be from 0 to 1, not %v", c.Kill)
	case !(c.Duplicate >= 0 && c.Duplicate < 1):
		return usage("--duplicate must be from 0 to below 1, not %v", c.Duplicate)
	}
	return nil
}
