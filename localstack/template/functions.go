package template

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// SourceKey is the key of a function's Metadata that names its Go main package.
const SourceKey = "streamsort:source"

// assetKey is the key of a function's Metadata under which `cdk synth` writes where its code lies
// ("aws:asset:path": cx-api, ASSET_RESOURCE_METADATA_PATH_KEY).
const assetKey = "aws:asset:path"

// FilesKey is the key of a function's Metadata that holds the files which lie beside its program:
// their texts by their names.
const FilesKey = "streamsort:files"

// Function is an AWS::Lambda::Function. Its code is not read here: Source, Asset and Key say where
// it is.
type Function struct {
	LogicalID string
	Name      string
	// Source is the main package, with forward slashes: its folder, absolute or relative to the
	// root of the Go module that holds it, or its import path. For an interpreted function it is
	// the folder of its code, absolute or relative to one above the template.
	Source string
	// Asset is the folder or the zip of the built code, absolute or relative to the template.
	Asset string
	// Key is the object of the bucket that the code is deployed from.
	Key string
	// Files are the texts of the files beside the program, by their names.
	Files     map[string]string
	Runtime   string
	Handler   string
	MemoryMB  int           // 128 to 10,240
	Timeout   time.Duration // 1 s to 15 min
	Env       map[string]string
	Reserved  int    // reserved concurrency; -1 where none is reserved
	LogFormat string // Text or JSON
	LogLevel  string // the application's log level, empty where none is set
	Async     Async
}

// Async says what becomes of asynchronous invocations that fail.
type Async struct {
	Retries   int           // 0 to 2
	MaxAge    time.Duration // 60 s to 6 h
	OnFailure string        // name of the queue that takes what was given up on, or empty
}

// URL is an AWS::Lambda::Url.
type URL struct {
	LogicalID string
	Function  string
	Qualifier string // the alias, or the version, that it calls; empty for none
	Endpoint  string // base URL without a final slash
	IAM       bool   // signed requests only, on AWS
}

// Mapping is an AWS::Lambda::EventSourceMapping of a table's stream. The bounds are those of
// CreateEventSourceMapping in the AWS Lambda API Reference.
type Mapping struct {
	LogicalID        string
	Function         string
	Table            string // whose stream is read
	Enabled          bool
	StartingPosition string        // TRIM_HORIZON or LATEST
	BatchSize        int           // 1 to 10,000
	Window           time.Duration // 0 to 300 s
	MaxRetries       int           // 0 to 10,000; -1 for no limit
	MaxRecordAge     time.Duration // 60 s to 7 days; -1 for no limit
	Parallelization  int           // 1 to 10
	Bisect           bool
	// ReportBatchItemFailures: the function's answer names the failed records.
	ReportBatchItemFailures bool
	Filters                 []string // event patterns, JSON text
	OnFailure               string   // name of the queue that takes what was given up on, or empty
}

// Permissions, networks, tracing and tags have no local meaning, nor has the architecture: a
// function is built for the machine that it runs on.
var functionIgnores = []string{
	"Architectures", "CodeSigningConfigArn", "Description", "EphemeralStorage", "KmsKeyArn", "Layers",
	"PackageType", "RecursiveLoop", "Role", "RuntimeManagementConfig", "SnapStart", "Tags", "TracingConfig", "VpcConfig",
}

func (r *reader) function(id, physical string, p *props) {
	p.ignore(functionIgnores...)
	f := Function{
		LogicalID: id, Name: physical,
		Handler:  p.text("Handler", "bootstrap"),
		MemoryMB: p.integer("MemorySize", 128, 128, 10240),
		Timeout:  p.seconds("Timeout", 3, 1, 900),
		Reserved: p.integer("ReservedConcurrentExecutions", -1, 0, 1_000_000),
		Async:    Async{Retries: 2, MaxAge: 6 * time.Hour},
	}
	f.Runtime = runtimeOf(p, f.Handler)
	r.code(&f, p.object("Code"))
	f.Files = r.files(id)
	p.within("Environment", func(p *props) { f.Env = p.strings("Variables") })
	f.LogFormat = "Text"
	p.within("LoggingConfig", func(logging *props) {
		logging.ignore("LogGroup", "SystemLogLevel")
		f.LogFormat = logging.oneOf("LogFormat", "Text", "Text", "JSON")
		f.LogLevel = logging.text("ApplicationLogLevel", "")
	})
	p.within("DeadLetterConfig", func(p *props) { f.Async.OnFailure = queueOf(p, "TargetArn") })
	r.template.Functions = append(r.template.Functions, f)
}

// code says where a function's code is.
func (r *reader) code(f *Function, code *props) {
	metadata := r.doc.resources[f.LogicalID].metadata
	f.Source, _ = metadata[SourceKey].(string)
	f.Asset, _ = metadata[assetKey].(string)
	if code != nil { // what else is in it is for AWS
		f.Key = code.text("S3Key", "")
	}
	if f.Source != "" && (path.Clean(f.Source) != f.Source || strings.HasPrefix(f.Source, "..")) {
		r.problems.add("Resources."+f.LogicalID+".Metadata."+SourceKey,
			"must be a path inside the Go module, an absolute one or an import path, not %q", f.Source)
	}
}

// files are the files that a function's Metadata holds.
func (r *reader) files(id string) map[string]string {
	at := "Resources." + id + ".Metadata." + FilesKey
	value, ok := r.doc.resources[id].metadata[FilesKey]
	if !ok {
		return nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		r.problems.add(at, "must be an object of texts by file names")
		return nil
	}
	files := map[string]string{}
	for name, value := range object {
		text, ok := value.(string)
		switch {
		case !ok:
			r.problems.add(at+"."+name, "must be a text")
		case name == "" || name != path.Base(name) || name == "." || name == ".." || name == "bootstrap":
			r.problems.add(at+"."+name, "must be the name of a file beside bootstrap")
		}
		files[name] = text
	}
	return files
}

// functionOf is the name of the function that a property refers to.
func functionOf(p *props, property string) string { return FunctionName(p.need(property)) }

// queueOf is the name of the queue that a property's ARN names.
func queueOf(p *props, property string) string {
	value := p.text(property, "")
	if value == "" {
		return ""
	}
	name, ok := QueueName(value)
	if !ok {
		p.bad(property, "must be the ARN of an SQS queue: failures go to no other service here")
	}
	return name
}

// failureQueue is the queue of a DestinationConfig.
func failureQueue(p *props) (queue string) {
	p.within("DestinationConfig", func(p *props) {
		p.within("OnFailure", func(p *props) { queue = queueOf(p, "Destination") })
	})
	return queue
}

func (r *reader) mapping(id, _ string, p *props) {
	p.ignore("KmsKeyArn", "LoggingConfig", "MetricsConfig", "Tags")
	source := p.need("EventSourceArn")
	if queue, ok := QueueName(source); ok {
		r.queueMapping(id, queue, p)
		return
	}
	m := Mapping{
		LogicalID:        id,
		Function:         functionOf(p, "FunctionName"),
		Enabled:          p.boolean("Enabled", true),
		StartingPosition: p.oneOf("StartingPosition", "", "TRIM_HORIZON", "LATEST"),
		BatchSize:        p.integer("BatchSize", 100, 1, 10_000),
		Window:           p.seconds("MaximumBatchingWindowInSeconds", 0, 0, 300),
		MaxRetries:       p.integer("MaximumRetryAttempts", -1, -1, 10_000),
		Parallelization:  p.integer("ParallelizationFactor", 1, 1, 10),
		Bisect:           p.boolean("BisectBatchOnFunctionError", false),
		OnFailure:        failureQueue(p),
	}
	m.MaxRecordAge = -1
	if age := p.integer("MaximumRecordAgeInSeconds", -1, -1, 604_800); age >= 0 {
		if age < 60 {
			p.bad("MaximumRecordAgeInSeconds", "must be -1, or from 60 to 604800")
		}
		m.MaxRecordAge = time.Duration(age) * time.Second
	}
	var ok bool
	if m.Table, ok = StreamTable(source); !ok && source != "" {
		p.bad("EventSourceArn",
			"must be the stream of a DynamoDB table, or a queue, of this run, not %q", source)
	}
	if p.integer("TumblingWindowInSeconds", 0, 0, 900) != 0 {
		p.bad("TumblingWindowInSeconds", "tumbling windows are not run on one machine")
	}
	m.ReportBatchItemFailures = reportsFailures(p)
	m.Filters = filters(p)
	r.template.Mappings = append(r.template.Mappings, m)
}

// reportsFailures tells that the function's answer names what failed.
func reportsFailures(p *props) bool {
	kinds := p.texts("FunctionResponseTypes")
	for _, kind := range kinds {
		if kind != "ReportBatchItemFailures" {
			p.bad("FunctionResponseTypes", "must hold ReportBatchItemFailures only, not %q", kind)
		}
	}
	return len(kinds) > 0
}

func filters(p *props) (patterns []string) {
	p.within("FilterCriteria", func(criteria *props) {
		for _, filter := range criteria.objects("Filters") {
			patterns = append(patterns, filter.need("Pattern"))
		}
	})
	return patterns
}

func (r *reader) invokeConfig(_, _ string, p *props) {
	p.ignore("Qualifier")
	function := functionOf(p, "FunctionName")
	async := Async{
		Retries:   p.integer("MaximumRetryAttempts", 2, 0, 2),
		MaxAge:    p.seconds("MaximumEventAgeInSeconds", 21_600, 60, 21_600),
		OnFailure: failureQueue(p),
	}
	r.links = append(r.links, func() {
		i := slices.IndexFunc(r.template.Functions, func(f Function) bool { return f.Name == function })
		if i < 0 {
			p.bad("FunctionName", "function %q is not in the template", function)
			return
		}
		r.template.Functions[i].Async = async
	})
}

func (r *reader) url(id, _ string, p *props) {
	if p.oneOf("InvokeMode", "BUFFERED", "BUFFERED", "RESPONSE_STREAM") != "BUFFERED" {
		p.bad("InvokeMode", "RESPONSE_STREAM is not run here: use BUFFERED")
	}
	r.template.URLs = append(r.template.URLs, URL{
		LogicalID: id, Endpoint: r.endpoint(id), Function: functionOf(p, "TargetFunctionArn"),
		Qualifier: p.text("Qualifier", ""), IAM: p.oneOf("AuthType", "", "AWS_IAM", "NONE") == "AWS_IAM",
	})
}

// interpreted are the runtimes that come with an interpreter, any version of them.
var interpreted = regexp.MustCompile(`^(python3\.[0-9]+|nodejs[0-9]+\.x)$`)

// Interpreted reports whether the function is no program of its own: Source is the folder of its
// code then, and Handler names the file, and the function in it.
func (f Function) Interpreted() bool { return interpreted.MatchString(f.Runtime) }

func runtimeOf(p *props, handler string) string {
	runtime := p.text("Runtime", "")
	switch {
	case runtime == "provided.al2023", runtime == "provided.al2":
	case !interpreted.MatchString(runtime):
		p.bad("Runtime", "must be provided.al2023, provided.al2, python3.N or nodejsN.x, not %q", runtime)
	case !strings.Contains(handler, "."):
		p.bad("Handler", "must be FILE.FUNCTION, not %q", handler)
	}
	return runtime
}
